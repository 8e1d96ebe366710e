/** URL of the next page (RFC 8288), possibly relative. */
export const nextLink = (headers: Headers) => linkTo(headers, 'next');

export const lastLink = (headers: Headers) => linkTo(headers, 'last');

function linkTo(headers: Headers, relation: string): string | undefined {
  const links = headers.get('link') ?? '';
  for (const [, target, parameters] of links.matchAll(/<([^<>]*)>([^<]*)/g)) {
    const rel = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,]+))/i.exec(parameters ?? '');
    const names = (rel?.[1] ?? rel?.[2] ?? '').toLowerCase().split(/\s+/);
    // Sentry links even an empty next page, with results="false".
    const isEmpty = /;\s*results\s*=\s*"?false"?/i.test(parameters ?? '');
    if (names.includes(relation) && !isEmpty) return target;
  }
  return undefined;
}
