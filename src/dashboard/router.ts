import { computed, signal } from '@preact/signals';

const base = new URL(document.baseURI).pathname;

/** Where the page is: the path below the base, without a leading slash, and the query. */
const place = signal(read());

export const path = computed(() => place.value.path);
export const query = computed(() => place.value.query);

function read(): { path: string; query: URLSearchParams } {
  const below = location.pathname.startsWith(base) ? location.pathname.slice(base.length) : '';
  return { path: below.replace(/\/+$/, ''), query: new URLSearchParams(location.search) };
}

addEventListener('popstate', () => {
  place.value = read();
});

/** The address of a path of this app, wherever it is mounted. */
export function hrefOf(to: string): string {
  const url = new URL(to || '.', document.baseURI);
  return url.pathname + url.search;
}

export function navigate(to: string): void {
  history.pushState(null, '', hrefOf(to));
  place.value = read();
  scrollTo(0, 0);
}

/** Changes the query in place; empty values leave it. Typing in a filter makes no history. */
export function setQuery(changes: Record<string, string | undefined>): void {
  const next = new URLSearchParams(query.value);
  for (const [name, value] of Object.entries(changes)) {
    if (value) next.set(name, value);
    else next.delete(name);
  }
  const text = next.toString();
  history.replaceState(null, '', hrefOf(path.value) + (text ? `?${text}` : ''));
  place.value = read();
}

/** A path with a query, leaving out what is empty. */
export function withQuery(to: string, values: Record<string, string | null | undefined>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value) params.set(name, value);
  const text = params.toString();
  return text ? `${to}?${text}` : to;
}
