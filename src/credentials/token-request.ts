import type { OAuth2, Secret } from '../contract/credential.ts';
import { TransientError } from '../contract/errors.ts';
import type { Ports } from '../platform/ports.ts';

/** What a token endpoint gave: tokens, or a refusal that asking again will not change. */
export type TokenAnswer = { tokens: OAuth2Secret } | { refused: string };
export type OAuth2Secret = Extract<Secret, { type: 'oauth2' }>;

/**
 * Well below what a transaction may idle (60 s), since a refresh holds a row meanwhile; and longer than any endpoint
 * takes that is going to answer.
 */
const tokenRequestMs = 20_000;
/** Tokens are a few kilobytes; a page of HTML says nothing that is of use here. */
const maxBytes = 128 * 1024;
/** Ten years: a larger number is a mistake, and would be no date. */
const maxLifeSeconds = 10 * 365 * 86_400;

/**
 * Codes that speak of the grant itself: of these alone it is certain that whoever gave their consent has to do it again.
 * Not `access_denied` nor Slack's `invalid_auth`: gateways and address filters say these, too.
 */
const ofTheGrant = new Set([
  // RFC 6749, and RFC 6750 as some use it.
  'invalid_grant',
  'invalid_token',
  // OpenID Connect: the person has to be there.
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

/** Codes of an app that is not known, or does not know its secret: no customer can do anything about these. */
const ofTheApp = new Set([
  'invalid_client',
  'unauthorized_client',
  'incorrect_client_credentials',
  'invalid_client_id',
  'bad_client_secret',
]);

type Context = Pick<Ports, 'fetch' | 'now' | 'sleep'>;

/**
 * RFC 6749, as providers understand it. What has no tokens and does not speak of the grant is a TransientError: a refusal that
 * was none would have customers connect by hand, one that is not recognised is asked for again and stands in the job's error.
 */
export async function requestTokens(
  context: Context,
  oauth2: OAuth2,
  parameters: Record<string, string>,
): Promise<TokenAnswer> {
  const { status, text } = await ask(context, oauth2, parameters);
  const answer = parsed(text);
  const accessToken = answer['access_token'];
  // Some say 200 and mean an error.
  if (status >= 200 && status < 300 && typeof accessToken === 'string' && accessToken !== '')
    return { tokens: tokensOf(answer, accessToken, context.now()) };
  const code = codeOf(answer['error'], [...Object.values(parameters), oauth2.clientSecret]);
  const said = `${hostOf(oauth2.tokenUrl)} answered ${status}${code ? ` (${code})` : ''}`;
  if (code && ofTheGrant.has(code) && status < 500 && status !== 429) return { refused: `${said}.` };
  throw new TransientError(
    code && ofTheApp.has(code)
      ? `The token endpoint refuses this app: ${said}. Check client id and secret of the connector.`
      : `No tokens were to be had: ${said}.`,
  );
}

async function ask(
  { fetch, sleep }: Context,
  oauth2: OAuth2,
  parameters: Record<string, string>,
): Promise<{ status: number; text: string }> {
  const { clientId, clientSecret, clientAuthentication } = oauth2;
  const isBasic = clientAuthentication === 'basic' && clientSecret !== undefined;
  const body = new URLSearchParams(parameters);
  if (!isBasic) body.set('client_id', clientId);
  if (!isBasic && clientSecret !== undefined) body.set('client_secret', clientSecret);
  const over = new AbortController();
  const late = new AbortController();
  void sleep(tokenRequestMs, over.signal).then(() => late.abort());
  try {
    const response = await fetch(oauth2.tokenUrl, {
      method: 'POST',
      // Nobody but the endpoint itself is sent these.
      redirect: 'manual',
      headers: {
        accept: 'application/json',
        'content-type': 'application/x-www-form-urlencoded',
        'user-agent': 'syncline',
        ...(isBasic && { authorization: basic(clientId, clientSecret) }),
      },
      body: body.toString(),
      signal: late.signal,
    });
    return { status: response.status, text: await readText(response) };
  } catch (error) {
    // Without the cause, which may hold what was sent.
    const reason = late.signal.aborted ? `no answer within ${tokenRequestMs / 1000} s` : networkCode(error);
    throw new TransientError(`${hostOf(oauth2.tokenUrl)} could not be asked for tokens: ${reason}.`);
  } finally {
    over.abort();
  }
}

async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response.body ?? []) {
    length += chunk.length;
    if (length > maxBytes) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

/** RFC 6749, 2.3.1: both are form-encoded first. */
function basic(id: string, secret: string): string {
  const [user, password] = [id, secret].map((text) => new URLSearchParams({ a: text }).toString().slice(2));
  return `Basic ${Buffer.from(`${user}:${password}`).toString('base64')}`;
}

/** JSON, or a form, which some send whatever they are asked for. */
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

/** Only what looks like a code of the RFC, and holds nothing of what was sent: an endpoint may repeat anything. */
function codeOf(error: unknown, sent: (string | undefined)[]): string | undefined {
  if (typeof error !== 'string' || !/^[a-z][a-z_]{2,39}$/.test(error)) return undefined;
  return sent.some((one) => one !== undefined && one.length > 3 && error.includes(one) && !words.has(one))
    ? undefined
    : error;
}

/** Parameters that are no secrets. */
const words = new Set(['refresh_token', 'authorization_code', 'S256']);

function networkCode(error: unknown): string {
  const cause = (error as { cause?: { code?: unknown } } | null)?.cause?.code;
  return typeof cause === 'string' ? cause : 'the connection failed';
}

const hostOf = (url: string) => (URL.canParse(url) ? new URL(url).host : 'The token endpoint');
