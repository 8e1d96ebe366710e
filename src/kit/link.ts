/** The address of the next page in a `Link` header (RFC 8288), as it is written there. */
export function nextLink(headers: Headers): string | undefined {
  const links = headers.get('link') ?? '';
  for (const [, target, parameters] of links.matchAll(/<([^>]*)>([^<]*)/g)) {
    const rel = /;\s*rel\s*=\s*(?:"([^"]*)"|([^\s;,]+))/i.exec(parameters ?? '');
    const names = (rel?.[1] ?? rel?.[2] ?? '').toLowerCase().split(/\s+/);
    if (names.includes('next')) return target;
  }
  return undefined;
}
