import { systemPorts } from '../../platform/ports.ts';

/** A catalog can take megabytes. */
const maxCatalogs = 16;
/** New streams appear within an hour. */
const freshMs = 60 * 60 * 1000;

export interface CatalogCache {
  get(key: string): unknown;
  set(key: string, catalog: unknown): void;
}

/** Discovery can take as long as a sync. */
export function createCatalogCache(): CatalogCache {
  const catalogs = new Map<string, { catalog: unknown; atMs: number }>();
  return {
    get: (key) => {
      const found = catalogs.get(key);
      return found && systemPorts.monotonicMs() - found.atMs < freshMs ? found.catalog : undefined;
    },
    set: (key, catalog) => {
      catalogs.delete(key);
      catalogs.set(key, { catalog, atMs: systemPorts.monotonicMs() });
      const [oldest] = catalogs.keys();
      if (catalogs.size > maxCatalogs && oldest !== undefined) catalogs.delete(oldest);
    },
  };
}
