import { isSecretName } from '../secrets.ts';

/** Tokens for pages are long, and nobody can read them. */
const longestValue = 40;

/** A URL for people: without its origin, without escapes, secrets hidden, long values cut short. */
export function readableUrl(url: URL): string {
  const parameters = [...url.searchParams].map(
    ([name, value]) =>
      `${name}=${isSecretName(name) ? '[hidden]' : value.length > longestValue ? `${value.slice(0, 12)}…` : value}`,
  );
  const path = safelyDecoded(url.pathname);
  return parameters.length === 0 ? path : `${path}?${parameters.join('&')}`;
}

/** The text without any of the secrets. Short ones are left: they would be found everywhere, and are no secrets. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  return secrets
    .filter((secret) => secret.length >= 6)
    .reduce((cleaned, secret) => cleaned.replaceAll(secret, '[hidden]'), text);
}

function safelyDecoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
