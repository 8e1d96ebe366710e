import type { Credential } from '../contract/credential.ts';

/** Names of fields whose values nobody should read, wherever an author put them. */
export const secretName = /token|secret|passw|authorization|cookie|credential|api[_-]?key|private[_-]?key/i;

export const isSecretName = (name: string) => secretName.test(name);

const hidden = '[hidden]';

/** As JSON, with what looks like a secret by its name replaced. */
export function jsonWithoutSecrets(value: unknown): string {
  return (
    JSON.stringify(value, (key, inner: unknown) =>
      isSecretName(key) && inner !== null && inner !== undefined ? hidden : inner,
    ) ?? 'null'
  );
}

/** The name of a field that holds what is shown in place of a secret: somebody wrote back what they had read. */
export function hiddenField(value: unknown): string | undefined {
  let found: string | undefined;
  JSON.stringify(value, (key, inner: unknown) => {
    if (inner === hidden && isSecretName(key)) found ??= key;
    return inner;
  });
  return found;
}

/** Every text in a value, or only those that are called like a secret, or lie within what is. */
export function secretTexts(value: unknown, isSecret = false): string[] {
  if (typeof value === 'string') return isSecret ? [value] : [];
  if (typeof value !== 'object' || value === null) return [];
  if (Array.isArray(value)) return value.flatMap((one) => secretTexts(one, isSecret));
  return Object.entries(value).flatMap(([name, inner]) => secretTexts(inner, isSecret || isSecretName(name)));
}

/** Every text in a credential that must not be seen anywhere. */
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

/** Shorter ones would be found everywhere, and are no secrets. */
const minSecret = 6;

/** The text without any of the secrets, however they are written in it: as they are, or as JSON, URLs and headers write them. */
export function withoutSecrets(text: string, secrets: Iterable<string>): string {
  const isLong = (form: string) => form.length >= minSecret;
  const forms = [...secrets].filter(isLong).flatMap(formsOf).filter(isLong);
  // The longest first: one may be a part of another.
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
    // Padding is left out by some.
    bytes.toString('base64').replace(/=+$/, ''),
    bytes.toString('base64url'),
    bytes.toString('hex'),
  ];
}

/** What somebody was told in confidence, kept out of what they tell. */
export interface Secrecy {
  add(secrets: readonly string[]): void;
  hide(text: string): string;
}

/** `known` is asked when there is something to hide: most runs tell nothing. */
export function createSecrecy(known: () => readonly (string | undefined)[]): Secrecy {
  const told = new Set<string>();
  return {
    add: (secrets) => {
      for (const secret of secrets) told.add(secret);
    },
    hide: (text) => {
      const before = known().filter((secret) => secret !== undefined);
      return withoutSecrets(text, [...before, ...told]);
    },
  };
}
