import { LRUCache } from 'lru-cache';

/** A catalog can take megabytes. */
const maxCatalogs = 16;
/** New streams appear within an hour. */
const freshMs = 60 * 60 * 1000;

/** `nowMs` is monotonic. */
export interface CatalogCache {
  get(key: string, nowMs: number): unknown;
  set(key: string, catalog: unknown, nowMs: number): void;
}

/** Discovery can take as long as a sync. */
export function createCatalogCache(): CatalogCache {
  const catalogs = new LRUCache<string, { catalog: unknown; atMs: number }>({ max: maxCatalogs });
  return {
    get: (key, nowMs) => {
      const found = catalogs.get(key);
      return found && nowMs - found.atMs < freshMs ? found.catalog : undefined;
    },
    set: (key, catalog, nowMs) => void catalogs.set(key, { catalog, atMs: nowMs }),
  };
}
