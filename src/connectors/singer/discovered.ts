import { systemPorts } from '../../platform/ports.ts';

/** A catalog may be some megabytes; these bound what a process holds on to. */
const maxCatalogs = 16;
/** New streams and columns are noticed within the hour. */
const freshMs = 60 * 60 * 1000;

export interface Discovered {
  get(key: string): unknown;
  set(key: string, catalog: unknown): void;
}

/** The catalogs that taps have printed: asking for one may take as long as a sync. */
export function createDiscovered(): Discovered {
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
