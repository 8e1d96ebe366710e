import { isSecretName } from '../values/redact.ts';

/** Longer values, such as page tokens, are truncated. */
const maxValueLength = 40;

/** Path and decoded query for logs, with secrets redacted. */
export function readableUrl(url: URL, redact: (text: string) => string = (text) => text): string {
  const parameters = [...url.searchParams].map(
    ([name, value]) => `${name}=${isSecretName(name) ? '[hidden]' : truncate(redact(value))}`,
  );
  const path = redact(decodePath(url.pathname));
  return parameters.length === 0 ? path : `${path}?${parameters.join('&')}`;
}

const truncate = (value: string) => (value.length > maxValueLength ? `${value.slice(0, 12)}…` : value);

function decodePath(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
