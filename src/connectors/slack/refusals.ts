import {
  CursorExpiredError,
  PermanentError,
  RateLimitedError,
  type ReceivedAnswer,
  TransientError,
  UnauthorizedError,
} from '../../connector-kit/index.ts';

const authErrors = ['invalid_auth', 'not_authed', 'account_inactive', 'token_revoked', 'token_expired'];
const transientErrors = [
  'internal_error',
  'fatal_error',
  'request_timeout',
  'service_unavailable',
  'team_added_to_org',
  'accesslimited',
];

/** If the response names none. */
const defaultWaitSeconds = 60;

const remedies = new Map([
  ['not_in_channel', ' Invite the app to the channel.'],
  ['channel_not_found', ' It does not exist, or the app is not a member of it.'],
  ['missing_scope', ' Add the scope to the app and reconnect it.'],
]);

export class ThreadGone extends PermanentError {}

/** Most errors have status 200. */
export function refusal({ status, headers, body, request }: ReceivedAnswer): Error | undefined {
  const error = errorCodeIn(body);
  if (error === undefined || status === 429) return undefined;
  const summary = `${request} returned ${error}.${remedies.get(error) ?? ''}`;
  if (authErrors.includes(error)) return new UnauthorizedError(`Slack rejected the token: ${summary}`);
  if (error === 'ratelimited' || error === 'rate_limited')
    return new RateLimitedError({
      retryAfterSeconds: headers.get('retry-after') || defaultWaitSeconds,
      message: summary,
    });
  if (error === 'thread_not_found') return new ThreadGone(summary);
  if (error === 'invalid_cursor') return new CursorExpiredError(summary);
  return transientErrors.includes(error) ? new TransientError(summary) : new PermanentError(summary);
}

/** A truncated page is invalid JSON. */
function errorCodeIn(body: string): string | undefined {
  if (!/"ok"\s*:\s*false/.test(body)) return undefined;
  try {
    const { ok, error } = JSON.parse(body) as { ok?: unknown; error?: unknown };
    return ok === false ? String(error ?? 'unknown_error') : undefined;
  } catch {
    return undefined;
  }
}
