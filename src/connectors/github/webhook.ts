import { z } from 'zod';
import { type Delivery, githubSignature, type Reaction, type Webhook } from '../../connector-kit/index.ts';
import { configSchema, type Resource } from './config.ts';
import {
  issueCommentShape,
  issueShape,
  pullRequestShape,
  releaseShape,
  reviewCommentShape,
} from './shapes.ts';
import type { GithubSignal } from './signal-schemas.ts';
import {
  deletedSignal,
  issueCommentSignal,
  issueSignal,
  pullRequestSignal,
  releaseSignal,
  reviewCommentSignal,
} from './signals.ts';

export function githubWebhook(secret: string | undefined): Webhook<GithubSignal> {
  return { secret, verify: githubSignature(), react };
}

interface EventItem {
  resource: Resource;
  item: string;
  signal(repository: string, body: unknown, action: string): GithubSignal | undefined;
}

function eventItem<Item>(
  resource: Resource,
  item: string,
  property: string,
  shape: z.ZodType<Item>,
  signal: (repository: string, item: Item, action: string) => GithubSignal,
): EventItem {
  const event = z.object({ [property]: shape });
  return {
    resource,
    item,
    signal: (repository, body, action) => {
      const found = event.safeParse(body).data?.[property];
      return found === undefined ? undefined : signal(repository, found as Item, action);
    },
  };
}

const eventItems = new Map<string, EventItem>([
  ['issues', eventItem('issues', 'issue', 'issue', issueShape, issueSignal)],
  [
    'pull_request',
    eventItem('pull_requests', 'pull_request', 'pull_request', pullRequestShape, pullRequestSignal),
  ],
  [
    'issue_comment',
    eventItem('issue_comments', 'issue_comment', 'comment', issueCommentShape, issueCommentSignal),
  ],
  [
    'pull_request_review_comment',
    eventItem('review_comments', 'review_comment', 'comment', reviewCommentShape, reviewCommentSignal),
  ],
  ['release', eventItem('releases', 'release', 'release', releaseShape, releaseEvent)],
]);

function releaseEvent(repository: string, release: z.output<typeof releaseShape>, action: string) {
  return releaseSignal(
    repository,
    release,
    action === 'edited' ? (release.published_at ?? undefined) : undefined,
  );
}

const bodyShape = z.object({
  action: z.string().optional(),
  repository: z.object({ full_name: z.string() }).optional(),
});

const removalActions = ['deleted', 'transferred'];

function react(delivery: Delivery, connection: { config: unknown }): Reaction<GithubSignal> {
  const event = delivery.headers['x-github-event'] ?? '';
  if (event === 'ping') return { sync: false };
  const body = parsedBody(delivery);
  const { data: envelope } = bodyShape.safeParse(body);
  const { data: config } = configSchema.safeParse(connection.config);
  // Invalid payload or config: the sync reports it.
  if (!envelope || !config) return {};
  if (!envelope.repository) return {};
  const fullName = envelope.repository.full_name.toLowerCase();
  const repository = config.repositories.find((name) => name.toLowerCase() === fullName);
  if (repository === undefined) return { sync: false };

  const match = eventItems.get(event);
  if (!match) return {};
  if (!config.resources.includes(match.resource)) return { sync: false };
  const { action = '' } = envelope;
  const signal = match.signal(repository, body, action);
  if (!signal) return {};
  return { signals: [removalActions.includes(action) ? deletedSignal(match.item, signal, action) : signal] };
}

function parsedBody({ headers, body }: Delivery): unknown {
  const isForm = headers['content-type']?.startsWith('application/x-www-form-urlencoded');
  const text = body.toString('utf8');
  try {
    return JSON.parse(isForm ? (new URLSearchParams(text).get('payload') ?? '') : text);
  } catch {
    return undefined;
  }
}
