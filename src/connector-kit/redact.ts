import { isSecretName } from '../values/redact.ts';

/** Tokens for pages are long, and nobody can read them. */
const maxValue = 40;

/** A URL for people: without its origin, without escapes, secrets hidden, long values cut short. */
export function readableUrl(url: URL, hide: (text: string) => string = (text) => text): string {
  const parameters = [...url.searchParams].map(
    ([name, value]) => `${name}=${isSecretName(name) ? '[hidden]' : cut(hide(value))}`,
  );
  const path = hide(safelyDecoded(url.pathname));
  return parameters.length === 0 ? path : `${path}?${parameters.join('&')}`;
}

const cut = (value: string) => (value.length > maxValue ? `${value.slice(0, 12)}…` : value);

function safelyDecoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
