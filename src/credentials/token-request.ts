import type { OAuth2, Secret } from '../contract/credential.ts';
import { TransientError } from '../contract/errors.ts';
import type { Ports } from '../platform/ports.ts';
import { startTimer } from '../platform/timer.ts';
import { maxTokenResponseBytes } from '../values/limits.ts';

export type TokenAnswer = { tokens: OAuth2Secret } | { refused: string };
export type OAuth2Secret = Extract<Secret, { type: 'oauth2' }>;

/** A refresh holds a row lock for at most 60 s. */
const tokenRequestTimeoutMs = 20_000;
/** Ten years; more overflows Date. */
const maxLifeSeconds = 10 * 365 * 86_400;

/**
 * The user must consent again. Without `access_denied` and Slack's `invalid_auth`, which gateways and IP
 * filters return.
 */
const grantErrors = new Set([
  // RFC 6749, and 6750 as some use it.
  'invalid_grant',
  'invalid_token',
  // OpenID Connect.
  'interaction_required',
  'consent_required',
  'login_required',
  // GitHub.
  'bad_refresh_token',
  'bad_verification_code',
  // Slack.
  'invalid_refresh_token',
  'invalid_code',
  'token_revoked',
  'token_expired',
  'account_inactive',
]);

/** The operator must fix it. */
const clientErrors = new Set([
  'invalid_client',
  'unauthorized_client',
  'incorrect_client_credentials',
  'invalid_client_id',
  'bad_client_secret',
]);

type Context = Pick<Ports, 'fetch' | 'now' | 'sleep'>;

/** Unknown errors are transient: a false refusal makes customers reconnect. */
export async function requestTokens(
  context: Context,
  oauth2: OAuth2,
  parameters: Record<string, string>,
): Promise<TokenAnswer> {
  const { status, text } = await send(context, oauth2, parameters);
  const answer = parsed(text);
  const accessToken = answer['access_token'];
  // Errors may have status 200.
  if (status >= 200 && status < 300 && typeof accessToken === 'string' && accessToken !== '')
    return { tokens: tokensOf(answer, accessToken, context.now()) };
  const code = codeOf(answer['error'], [...Object.values(parameters), oauth2.clientSecret]);
  const summary = `${hostOf(oauth2.tokenUrl)} answered ${status}${code ? ` (${code})` : ''}`;
  if (code && grantErrors.has(code) && status < 500 && status !== 429) return { refused: `${summary}.` };
  throw new TransientError(
    code && clientErrors.has(code)
      ? `The token endpoint rejects this OAuth client: ${summary}. Check the connector's client id and ` +
          'secret.'
      : `The token request failed: ${summary}.`,
  );
}

async function send(
  { fetch, sleep }: Context,
  oauth2: OAuth2,
  parameters: Record<string, string>,
): Promise<{ status: number; text: string }> {
  const { clientId, clientSecret, clientAuthentication } = oauth2;
  const isBasic = clientAuthentication === 'basic' && clientSecret !== undefined;
  const body = new URLSearchParams(parameters);
  if (!isBasic) body.set('client_id', clientId);
  if (!isBasic && clientSecret !== undefined) body.set('client_secret', clientSecret);
  const timedOut = new AbortController();
  const cancelTimer = startTimer({ sleep }, tokenRequestTimeoutMs, () => timedOut.abort());
  try {
    const response = await fetch(oauth2.tokenUrl, {
      method: 'POST',
      // Secrets must not reach a redirect target.
      redirect: 'manual',
      headers: {
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
        'user-agent': 'syncline',
        ...(isBasic && { authorization: basic(clientId, clientSecret) }),
      },
      body: body.toString(),
      signal: timedOut.signal,
    });
    return { status: response.status, text: await readText(response) };
  } catch (error) {
    // The cause may contain the request body.
    const reason = timedOut.signal.aborted
      ? `no response within ${tokenRequestTimeoutMs / 1000} s`
      : networkCode(error);
    throw new TransientError(`The token request to ${hostOf(oauth2.tokenUrl)} failed: ${reason}.`);
  } finally {
    cancelTimer();
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > maxTokenResponseBytes) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** RFC 6749, 2.3.1: form-encoded. */
function basic(id: string, secret: string): string {
  const [user, password] = [id, secret].map((text) => new URLSearchParams({ a: text }).toString().slice(2));
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

/** Some send forms despite `accept`. */
function parsed(text: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return Object.fromEntries(new URLSearchParams(text));
  }
}

function tokensOf(answer: Record<string, unknown>, accessToken: string, nowMs: number): OAuth2Secret {
  const { refresh_token: refreshToken, expires_in: expiresIn, scope } = answer;
  const seconds = typeof expiresIn === 'string' && expiresIn.trim() !== '' ? Number(expiresIn) : expiresIn;
  const isLife = typeof seconds === 'number' && seconds > 0 && seconds <= maxLifeSeconds;
  return {
    type: 'oauth2',
    accessToken,
    ...(typeof refreshToken === 'string' && refreshToken !== '' && { refreshToken }),
    ...(isLife && { expiresAt: new Date(nowMs + seconds * 1000).toISOString() }),
    ...(typeof scope === 'string' && scope !== '' && { scope }),
  };
}

/** An endpoint may echo a secret. */
function codeOf(error: unknown, sent: (string | undefined)[]): string | undefined {
  if (typeof error !== 'string' || !/^[a-z][a-z_]{2,39}$/.test(error)) return undefined;
  return sent.some(
    (value) => value !== undefined && value.length > 3 && error.includes(value) && !nonSecrets.has(value),
  )
    ? undefined
    : error;
}

const nonSecrets = new Set(['refresh_token', 'authorization_code', 'S256']);

function networkCode(error: unknown): string {
  const cause = (error as { cause?: { code?: unknown } } | null)?.cause?.code;
  return typeof cause === 'string' ? cause : 'connection failed';
}

const hostOf = (url: string) => (URL.canParse(url) ? new URL(url).host : 'The token endpoint');
