import type { Credential } from '../contract/credential.ts';

/** The only definition of secret names and the placeholder. */

export const hidden = '[hidden]';

const secretKey = '(?:api|private|access|auth|signing|encryption|subscription|shared|master)[_-]?key';
const secretName = new RegExp(`token|secret|passw|authorization|cookie|credential|${secretKey}`, 'i');

/** For any JSON: config, log fields, payloads. */
export const isSecretName = (name: string) => secretName.test(name);

const secretParameter = /key(?!word)|^(?:x[_-])?(?:auth|signature|sig|session(?:[_-]?id)?)$/i;

/**
 * For headers, parameters, variables and arguments, where more names are secret: in JSON, `key` is ordinary.
 */
export const isSecretParameter = (name: string) => isSecretName(name) || secretParameter.test(name);

const pageToken = /(?:page|sync|delta|skip|next|prev\w*|continuation)[_-]?token/i;

/** Positions, despite their names; recordings distinguish requests by them. */
export const isPageToken = (name: string) => pageToken.test(name);

export function jsonWithoutSecrets(value: unknown): string {
  return (
    JSON.stringify(value, (key, inner: unknown) =>
      isSecretName(key) && inner !== null && inner !== undefined ? hidden : inner,
    ) ?? 'null'
  );
}

/** The caller wrote back the placeholder. */
export function hiddenField(value: unknown): string | undefined {
  let found: string | undefined;
  JSON.stringify(value, (key, inner: unknown) => {
    if (inner === hidden && isSecretName(key)) found ??= key;
    return inner;
  });
  return found;
}

/** Of fields with secret names; `isSecret`: all. */
export function secretTexts(value: unknown, isSecret = false): string[] {
  if (typeof value === 'string') return isSecret ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((item) => secretTexts(item, isSecret));
  return Object.entries(value).flatMap(([name, inner]) => secretTexts(inner, isSecret || isSecretName(name)));
}

export function secretsOf(credential: Credential): string[] {
  switch (credential.type) {
    case 'api_key':
      return [credential.key];
    case 'oauth2':
      return [credential.accessToken];
    case 'basic': {
      const { username, password } = credential;
      return [password, Buffer.from(`${username}:${password}`).toString('base64')];
    }
    case 'custom':
      return secretTexts(credential.fields, true);
  }
}

/** Shorter strings occur in ordinary text. */
const minSecret = 6;

export function withoutSecrets(text: string, secrets: Iterable<string>): string {
  const isLong = (form: string) => form.length >= minSecret;
  const forms = [...secrets].filter(isLong).flatMap(formsOf).filter(isLong);
  // Longest first: one may contain another.
  const ordered = [...new Set(forms)].sort((a, b) => b.length - a.length);
  return ordered.reduce((cleaned, form) => cleaned.replaceAll(form, hidden), text);
}

function formsOf(secret: string): string[] {
  const bytes = Buffer.from(secret);
  const wellFormed = bytes.toString();
  return [
    secret,
    JSON.stringify(secret).slice(1, -1),
    encodeURIComponent(wellFormed),
    new URL(`http://host/${secret}`).pathname.slice(1),
    new URLSearchParams({ a: secret }).toString().slice(2),
    // Some encoders omit the padding.
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    bytes.toString('hex'),
  ];
}

const named = `[\\w.-]{0,40}(?:${secretName.source})[\\w.-]{0,40}`;
const inJson = new RegExp(`("${named}"\\s*:\\s*")(?:[^"\\\\]|\\\\.)+`, 'gi');
const inForm = new RegExp(`(?<![\\w.-])(${named}=)[^\\s&"'<>]+`, 'gi');

/** By field name: `"access_token": "…"`, `access_token=…`. */
export const redactNamed = (text: string) =>
  text.replaceAll(inJson, `$1${hidden}`).replaceAll(inForm, `$1${hidden}`);

const inLog = new RegExp(
  `((?:${secretName.source})[\\w-]{0,64}\\\\?["']?\\s*[:=]\\s*\\\\?["']?)` +
    `(?:bearer\\s+|basic\\s+)?[^\\s"',;&}]+`,
  'gi',
);

/** For other programs' lines; too broad for providers' messages, such as `invalid token: expired`. */
export const redactNamedInLog = (line: string) => line.replaceAll(inLog, `$1${hidden}`);

export interface SecretRedactor {
  add(secrets: readonly string[]): void;
  redact(text: string): string;
}

/** Evaluated late: most runs log nothing. */
export function createSecretRedactor(known: () => readonly (string | undefined)[]): SecretRedactor {
  const seen = new Set<string>();
  return {
    add: (secrets) => {
      for (const secret of secrets) seen.add(secret);
    },
    redact: (text) => {
      const configured = known().filter((secret) => secret !== undefined);
      return withoutSecrets(text, [...configured, ...seen]);
    },
  };
}
