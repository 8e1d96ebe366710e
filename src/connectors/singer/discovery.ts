import { createHash } from 'node:crypto';
import { PermanentError, type SyncContext } from '../../connector-kit/index.ts';
import { type StreamChoice, selectStreams, streamsOf } from './catalog.ts';
import type { Discovered } from './discovered.ts';
import { runTap, type TapRunOptions } from './run.ts';

const maxCatalogBytes = 16 * 1024 * 1024;

interface CatalogOptions {
  command: readonly string[];
  catalog?: unknown;
  streams?: readonly StreamChoice[] | undefined;
}

/** The catalog that a run is given: the author's, or the tap's own with the chosen streams; undefined for none. */
export async function catalogFor(
  { command, catalog, streams }: CatalogOptions,
  discovered: Discovered,
  { connection }: Pick<SyncContext, 'connection'>,
  run: TapRunOptions,
  configFile: string,
): Promise<unknown> {
  if (catalog !== undefined) return streams ? selectStreams(catalog, streams) : catalog;
  if (streams === undefined) return undefined;
  const key = createHash('sha256')
    .update(JSON.stringify([command, connection.id, connection.config]))
    .digest('hex');
  const found =
    discovered.get(key) ?? (await discover({ ...run, arguments: ['--config', configFile, '--discover'] }));
  const selected = selectStreams(found, streams);
  discovered.set(key, found);
  return selected;
}

/** The catalog that the tap prints, which may go over many lines. */
async function discover(run: TapRunOptions): Promise<unknown> {
  let json = '';
  const end = await runTap({ ...run, maxLineBytes: maxCatalogBytes }, (line) => {
    json += `${line}\n`;
    return json.length <= maxCatalogBytes;
  });
  if (end.how === 'failed') throw end.error;
  if (end.how === 'stopped')
    throw new PermanentError(`The catalog of the tap has more than ${maxCatalogBytes} bytes.`);
  try {
    const catalog: unknown = JSON.parse(json);
    streamsOf(catalog);
    return catalog;
  } catch (error) {
    throw new PermanentError('The tap was asked for its catalog, and did not print one.', { cause: error });
  }
}
