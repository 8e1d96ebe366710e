/** The URL without its password; nothing of what is no URL, since nobody knows where the password stands in that. */
export function maskUrl(url: unknown): string {
  if (url === undefined) return '(not set)';
  if (typeof url !== 'string' || !/^[a-z][a-z\d+.-]*:\/\//i.test(url)) return '(hidden: it is no URL)';
  return url
    .replace(/(:\/\/[^:/?#]*):.*@/s, '$1:***@')
    .replace(/([?&](?:password|sslpassword)=)[^&]*/gi, '$1***');
}
