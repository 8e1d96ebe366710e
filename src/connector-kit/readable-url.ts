import { hidden, isSecretParameter } from '../values/redact.ts';

/** Page tokens can be long. */
const maxValueLength = 40;

/** For logs: secrets are redacted. */
export function readableUrl(url: URL, redact: (text: string) => string = (text) => text): string {
  const parameters = [...url.searchParams].map(
    ([name, value]) => `${name}=${isSecretParameter(name) ? hidden : truncate(redact(value))}`,
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
