import { hidden, isPageToken, isSecretName, isSecretParameter, withoutSecrets } from '../values/redact.ts';
import type { CapturedRequest, RecordedBody, RecordedRequest } from './traffic.ts';

const isHiddenName = (name: string) => isSecretParameter(name) && !isPageToken(name);

interface Redactor {
  learn(request: CapturedRequest): void;
  url(url: string): string;
  headers(headers: Headers): Record<string, string>;
  body(bytes: Uint8Array | undefined, type: string | null): RecordedBody;
  text(text: string): string;
}

export function createRedactor(configured: readonly string[]): Redactor {
  const secrets = new Set(configured);
  const text = (from: string) => withoutSecrets(from, secrets);

  function body(bytes: Uint8Array | undefined, type: string | null): RecordedBody {
    if (!bytes) return {};
    const read = readable(bytes);
    if (read === undefined) return { base64: Buffer.from(bytes).toString('base64') };
    for (const secret of secretsIn(read, type)) secrets.add(secret);
    if (isForm(type)) return { text: text(redactForm(read)) };
    const json = asJson(read);
    return json === undefined ? { text: text(read) } : { json: redactJson(json, text) };
  }

  return {
    text,
    body,
    learn({ headers, url, body: sent }) {
      for (const [name, value] of headers)
        if (isHiddenName(name)) for (const part of partsOf(value)) secrets.add(part);
      for (const [name, value] of new URL(url).searchParams) if (isHiddenName(name)) secrets.add(value);
      for (const secret of secretsIn(sent && readable(sent), headers.get('content-type')))
        secrets.add(secret);
    },
    url: (url) => text(redactUrl(url)),
    headers: (headers) =>
      Object.fromEntries(
        [...headers].map(([name, value]) => [name, isHiddenName(name) ? hidden : text(value)]),
      ),
  };
}

function secretsIn(text: string | undefined, type: string | null): string[] {
  if (text === undefined) return [];
  if (isForm(type))
    return [...new URLSearchParams(text)].filter(([name]) => isHiddenName(name)).map(([, value]) => value);
  const found: string[] = [];
  const collect = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return;
    for (const [name, inner] of Object.entries(value))
      if (isSecretField(name, inner)) found.push(inner);
      else collect(inner);
  };
  collect(parsed(text));
  return found;
}

const isForm = (type: string | null) => /form-urlencoded/i.test(type ?? '');

/** `Bearer abc` contains `abc`; `Basic …`, a password. */
function partsOf(value: string): string[] {
  const [, scheme = '', rest = value] = /^(\w+) (.+)$/.exec(value) ?? [];
  if (scheme.toLowerCase() !== 'basic') return [value, rest];
  const password = Buffer.from(rest, 'base64')
    .toString()
    .replace(/^[^:]*:/, '');
  return [rest, password];
}

function redactUrl(url: string): string {
  const cleaned = new URL(url);
  if (cleaned.username) cleaned.username = 'hidden';
  if (cleaned.password) cleaned.password = 'hidden';
  const names = [...cleaned.searchParams.keys()].filter(isHiddenName);
  for (const name of names) cleaned.searchParams.set(name, hidden);
  // Keep the placeholder readable.
  return cleaned.href.replaceAll(encodeURIComponent(hidden), hidden);
}

function redactForm(text: string): string {
  const form = new URLSearchParams(text);
  for (const name of new Set(form.keys())) if (isHiddenName(name)) form.set(name, hidden);
  return form.toString().replaceAll(encodeURIComponent(hidden), hidden);
}

function redactJson(value: unknown, clean: (text: string) => string): unknown {
  if (typeof value === 'string') return clean(value);
  if (Array.isArray(value)) return value.map((inner) => redactJson(inner, clean));
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [
      clean(name),
      isSecretField(name, inner) ? hidden : redactJson(inner, clean),
    ]),
  );
}

/** A numeric `key` or `token_count` is no secret. */
const isSecretField = (name: string, value: unknown): value is string =>
  typeof value === 'string' && isSecretName(name) && !isPageToken(name);

function readable(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes);
  } catch {
    return undefined;
  }
}

/** Only if it round-trips: integers beyond 2^53 stay text. */
function asJson(text: string): unknown {
  const outsideStrings = text.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""');
  return /\d{16}/.test(outsideStrings) ? undefined : parsed(text);
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function recordedRequest(
  { method, url, headers, body }: CapturedRequest,
  redactor: Redactor,
): RecordedRequest {
  return {
    method,
    url: redactor.url(url),
    headers: redactor.headers(headers),
    ...redactor.body(body, headers.get('content-type')),
  };
}
