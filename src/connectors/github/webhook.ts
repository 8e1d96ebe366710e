import { z } from 'zod';
import {
  type Delivery,
  githubSignature,
  type Reaction,
  type Signal,
  type Webhook,
} from '../../connector-kit/index.ts';
import { configSchema, type Resource } from './config.ts';
import {
  issueCommentShape,
  issueShape,
  pullRequestShape,
  releaseShape,
  reviewCommentShape,
} from './shapes.ts';
import {
  deletedSignal,
  issueCommentSignal,
  issueSignal,
  pullRequestSignal,
  releaseSignal,
  reviewCommentSignal,
} from './signals.ts';

export function githubWebhook(secret: string | undefined): Webhook {
  return { secret, verify: githubSignature(), react };
}

/** What an event carries: which resource it belongs to, how its item is called, and what becomes of it. */
interface CarriedItem {
  resource: Resource;
  item: string;
  signal(repository: string, body: unknown, action: string): Signal | undefined;
}

function carried<Item>(
  resource: Resource,
  item: string,
  property: string,
  shape: z.ZodType<Item>,
  signal: (repository: string, item: Item, action: string) => Signal,
): CarriedItem {
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

/** By the name of the event. */
const carriedBy = new Map<string, CarriedItem>([
  ['issues', carried('issues', 'issue', 'issue', issueShape, issueSignal)],
  [
    'pull_request',
    carried('pull_requests', 'pull_request', 'pull_request', pullRequestShape, pullRequestSignal),
  ],
  [
    'issue_comment',
    carried('issue_comments', 'issue_comment', 'comment', issueCommentShape, issueCommentSignal),
  ],
  [
    'pull_request_review_comment',
    carried('review_comments', 'review_comment', 'comment', reviewCommentShape, reviewCommentSignal),
  ],
  ['release', carried('releases', 'release', 'release', releaseShape, releaseEvent)],
]);

/** Here what was done is known: what was edited was published before. */
function releaseEvent(repository: string, release: z.output<typeof releaseShape>, action: string): Signal {
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

/** After these actions an item is no longer where it was. */
const goneActions = ['deleted', 'transferred'];

function react(delivery: Delivery, connection: { config: unknown }): Reaction {
  const event = delivery.headers['x-github-event'] ?? '';
  if (event === 'ping') return { sync: false };
  const body = parsedBody(delivery);
  const { data: about } = bodyShape.safeParse(body);
  const { data: config } = configSchema.safeParse(connection.config);
  // Something that nobody expected: the sync will tell what it was, and what is wrong with the configuration.
  if (!about || !config) return {};
  if (!about.repository) return {};
  const fullName = about.repository.full_name.toLowerCase();
  const repository = config.repositories.find((name) => name.toLowerCase() === fullName);
  // A webhook of a whole organisation tells of all its repositories.
  if (repository === undefined) return { sync: false };

  const known = carriedBy.get(event);
  if (!known) return {};
  if (!config.resources.includes(known.resource)) return { sync: false };
  const { action = '' } = about;
  const signal = known.signal(repository, body, action);
  if (!signal) return {};
  return { signals: [goneActions.includes(action) ? deletedSignal(known.item, signal, action) : signal] };
}

/** As JSON, or as a form with JSON in it: the one who set it up has chosen. */
function parsedBody({ headers, body }: Delivery): unknown {
  const isForm = headers['content-type']?.startsWith('application/x-www-form-urlencoded');
  const text = body.toString('utf8');
  try {
    return JSON.parse(isForm ? (new URLSearchParams(text).get('payload') ?? '') : text);
  } catch {
    return undefined;
  }
}
