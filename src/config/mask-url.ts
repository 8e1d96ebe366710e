import { isSecretName } from '../values/redact.ts';

/** Masks the password, or unparsable input entirely. */
export function maskUrl(url: unknown): string {
  if (url === undefined) return '(not set)';
  if (typeof url !== 'string' || !/^[a-z][a-z\d+.-]*:\/\//i.test(url)) return '(hidden: not a URL)';
  return url
    .replace(/(:\/\/[^:/?#]*):.*@/s, '$1:***@')
    .replace(/([?&]([^=&]+)=)[^&]*/g, (parameter, start: string, name: string) =>
      isSecretName(name) ? `${start}***` : parameter,
    );
}
