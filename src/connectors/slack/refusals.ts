import {
  CursorExpiredError,
  PermanentError,
  RateLimitedError,
  type ReceivedAnswer,
  TransientError,
  UnauthorizedError,
} from '../../connector-kit/index.ts';

const needsUser = ['invalid_auth', 'not_authed', 'account_inactive', 'token_revoked', 'token_expired'];
const mayPass = [
  'internal_error',
  'fatal_error',
  'request_timeout',
  'service_unavailable',
  'team_added_to_org',
  'accesslimited',
];

/** What an app that asks too often is told to wait where the answer does not say it. */
const unsaidSeconds = 60;

const remedies = new Map([
  ['not_in_channel', ' Invite the app to the channel.'],
  ['channel_not_found', ' It does not exist, or the app is not a member of it.'],
  ['missing_scope', ' Add the scope to the app, and connect it again.'],
]);

/** The parent was deleted meanwhile, and its replies with it. */
export class ThreadGone extends PermanentError {}

/** Slack tells of mistakes with status 200, and of some with others. */
export function refusal({ status, headers, body, request }: ReceivedAnswer): Error | undefined {
  const error = mistakeIn(body);
  if (error === undefined || status === 429) return undefined;
  const said = `${request} was answered with ${error}.${remedies.get(error) ?? ''}`;
  if (needsUser.includes(error)) return new UnauthorizedError(`Slack refuses the token: ${said}`);
  if (error === 'ratelimited' || error === 'rate_limited')
    return new RateLimitedError({
      retryAfterSeconds: headers.get('retry-after') || unsaidSeconds,
      message: said,
    });
  if (error === 'thread_not_found') return new ThreadGone(said);
  if (error === 'invalid_cursor') return new CursorExpiredError(said);
  return mayPass.includes(error) ? new TransientError(said) : new PermanentError(said);
}

/** The beginning of a long page is no JSON, and no mistake either: those are short. */
function mistakeIn(body: string): string | undefined {
  if (!/"ok"\s*:\s*false/.test(body)) return undefined;
  try {
    const { ok, error } = JSON.parse(body) as { ok?: unknown; error?: unknown };
    return ok === false ? String(error ?? 'unknown_error') : undefined;
  } catch {
    return undefined;
  }
}
