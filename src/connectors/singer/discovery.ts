import { createHash } from 'node:crypto';
import { PermanentError, type SyncContext } from '../../connector-kit/index.ts';
import { type StreamChoice, selectStreams, streamsOf } from './catalog.ts';
import type { CatalogCache } from './discovered.ts';
import { runTap, type TapRunOptions } from './run.ts';

const maxCatalogBytes = 16 * 1024 * 1024;

interface CatalogOptions {
  command: readonly string[];
  catalog?: unknown;
  streams?: readonly StreamChoice[] | undefined;
}

/** undefined: neither catalog nor streams are configured. */
export async function catalogFor(
  { command, catalog, streams }: CatalogOptions,
  catalogCache: CatalogCache,
  { connection, clock }: Pick<SyncContext, 'connection' | 'clock'>,
  run: TapRunOptions,
  configFile: string,
): Promise<unknown> {
  if (catalog !== undefined) return streams ? selectStreams(catalog, streams) : catalog;
  if (streams === undefined) return undefined;
  const key = createHash('sha256')
    .update(JSON.stringify([command, connection.id, connection.config]))
    .digest('hex');
  const found =
    catalogCache.get(key, clock.monotonicMs()) ??
    (await discover({ ...run, arguments: ['--config', configFile, '--discover'] }));
  const selected = selectStreams(found, streams);
  catalogCache.set(key, found, clock.monotonicMs());
  return selected;
}

async function discover(run: TapRunOptions): Promise<unknown> {
  let json = '';
  const end = await runTap({ ...run, maxLineBytes: maxCatalogBytes }, (line) => {
    json += `${line}\n`;
    return json.length <= maxCatalogBytes;
  });
  if (end.outcome === 'failed') throw end.error;
  if (end.outcome === 'stopped')
    throw new PermanentError(`The tap's catalog has more than ${maxCatalogBytes} bytes.`);
  try {
    const catalog: unknown = JSON.parse(json);
    streamsOf(catalog);
    return catalog;
  } catch (error) {
    throw new PermanentError('The tap did not print a catalog with --discover.', { cause: error });
  }
}
