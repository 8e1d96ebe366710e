/** A browser for consent links: keeps cookies by path, submits forms, does not follow redirects by itself. */
export interface Visitor {
  visit(url: string, request?: VisitRequest): Promise<Visit>;
  /** Opens a link and submits its form; returns the redirect to the provider. */
  proceed(link: string): Promise<Visit>;
  /** `proceed`, then consents at the provider; returns the callback URL. */
  consent(link: string): Promise<string>;
  cookies(): string[];
  cookie(name: RegExp): [name: string, value: string] | [];
}

interface VisitRequest {
  form?: Record<string, string>;
  headers?: Record<string, string>;
}

interface Visit {
  status: number;
  headers: Headers;
  text: string;
  location: string;
}

export function newVisitor(): Visitor {
  const jar = new Map<string, { value: string; path: string }>();

  function storeCookies(headers: Headers): void {
    for (const line of headers.getSetCookie()) {
      const [pair = '', ...attributes] = line.split('; ');
      const [name = '', value = ''] = [pair.slice(0, pair.indexOf('=')), pair.slice(pair.indexOf('=') + 1)];
      const path = attributes.find((attribute) => attribute.startsWith('Path='))?.slice(5) ?? '/';
      if (attributes.includes('Max-Age=0')) jar.delete(name);
      else jar.set(name, { value, path });
    }
  }

  async function visit(url: string, { form, headers }: VisitRequest = {}): Promise<Visit> {
    const { pathname } = new URL(url);
    const cookie = [...jar]
      .filter(([, { path }]) => pathname === path || pathname.startsWith(`${path.replace(/\/$/, '')}/`))
      .map(([name, { value }]) => `${name}=${value}`)
      .join('; ');
    const response = await fetch(url, {
      redirect: 'manual',
      headers: { accept: 'text/html', ...(cookie !== '' && { cookie }), ...headers },
      ...(form && { method: 'POST', body: new URLSearchParams(form) }),
    });
    storeCookies(response.headers);
    const location = response.headers.get('location') ?? '';
    return { status: response.status, headers: response.headers, text: await response.text(), location };
  }

  async function proceed(link: string): Promise<Visit> {
    const form = fieldsOf((await visit(link)).text);
    const target = new URL(link);
    target.search = '';
    return visit(target.href, { form, headers: { 'sec-fetch-site': 'same-origin' } });
  }

  return {
    visit,
    proceed,
    consent: async (link) => (await visit((await proceed(link)).location)).location,
    cookies: () => [...jar.keys()],
    cookie: (pattern) => {
      const name = [...jar.keys()].find((key) => pattern.test(key));
      return name === undefined ? [] : [name, jar.get(name)?.value ?? ''];
    },
  };
}

export const fieldsOf = (page: string): Record<string, string> =>
  Object.fromEntries(
    [...page.matchAll(/<input type="hidden" name="(\w+)" value="([^"]*)">/g)].map(([, name, value]) => [
      name ?? '',
      value ?? '',
    ]),
  );
