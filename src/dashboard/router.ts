import { computed, signal } from '@preact/signals';

const base = new URL(document.baseURI).pathname;

const currentLocation = signal(readLocation());

export const path = computed(() => currentLocation.value.path);
export const query = computed(() => currentLocation.value.query);

function readLocation(): { path: string; query: URLSearchParams } {
  const below = location.pathname.startsWith(base) ? location.pathname.slice(base.length) : '';
  return { path: below.replace(/\/+$/, ''), query: new URLSearchParams(location.search) };
}

addEventListener('popstate', () => {
  currentLocation.value = readLocation();
});

export function hrefOf(to: string): string {
  const url = new URL(to || '.', document.baseURI);
  return url.pathname + url.search;
}

export function navigate(to: string): void {
  history.pushState(null, '', hrefOf(to));
  currentLocation.value = readLocation();
  scrollTo(0, 0);
}

/** Without a history entry; empty values are removed. */
export function setQuery(changes: Record<string, string | undefined>): void {
  const next = new URLSearchParams(query.value);
  for (const [name, value] of Object.entries(changes)) {
    if (value) next.set(name, value);
    else next.delete(name);
  }
  const text = next.toString();
  history.replaceState(null, '', hrefOf(path.value) + (text ? `?${text}` : ''));
  currentLocation.value = readLocation();
}

export function withQuery(to: string, values: Record<string, string | null | undefined>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value) params.set(name, value);
  const text = params.toString();
  return text ? `${to}?${text}` : to;
}
