import { resolve } from 'node:path';
import type { StandardSchemaV1 } from '@standard-schema/spec';
import { z } from 'zod';
import {
  type Connector,
  defineConnector,
  PermanentError,
  type SyncContext,
  type SyncResult,
} from '../../connector-kit/index.ts';
import { SynclineError } from '../../contract/errors.ts';
import { isObject } from '../../values/is-object.ts';
import { maxResult } from '../../values/limits.ts';
import type { StreamChoice } from './catalog.ts';
import { createCollector } from './collect.ts';
import { allowedFields, credentialFields, saveRenewed } from './credential.ts';
import { cursorSchema, type TapCursor } from './cursor.ts';
import { type CatalogCache, createCatalogCache } from './discovered.ts';
import { catalogFor } from './discovery.ts';
import { writeExactly } from './exact.ts';
import { makeFolder, type TapFolder } from './folder.ts';
import { createRedactor } from './redact.ts';
import { runTap, type TapRunOptions } from './run.ts';
import type { RecordMap } from './signal.ts';

export type { StreamChoice } from './catalog.ts';
export type { RecordMap } from './signal.ts';

export interface SingerOptions<
  Provider extends string = string,
  ConfigSchema extends StandardSchemaV1 = StandardSchemaV1,
> {
  /** As in `connections.provider_slug`. */
  provider: Provider;
  name: string;
  /** Program and fixed arguments; no shell is involved. */
  command: readonly [string, ...string[]];
  /** Streams to read; runs discovery unless `catalog` is set. Without both, the tap decides. */
  streams?: readonly StreamChoice[] | undefined;
  catalog?: { streams: readonly unknown[] } | undefined;
  /** Old taps use `--properties`. */
  catalogFlag?: '--catalog' | '--properties' | undefined;
  /** Overrides `connection.config` and credentials. */
  config?: Readonly<Record<string, unknown>> | undefined;
  /**
   * Validates `connection.config`, which tenants set; the tap gets its output. Strip or reject unknown keys,
   * as `z.object` does: they may name files and hosts. Default: no config.
   */
  configSchema?: ConfigSchema | undefined;
  /** The same for the fields of a custom credential. Default: all are passed. */
  credentialSchema?: StandardSchemaV1 | undefined;
  map?: RecordMap | undefined;
  /** Added to the minimal environment of the tap. */
  env?: Record<string, string> | undefined;
  /** Default: the temporary folder of the run. */
  cwd?: string | undefined;
  /** Matches stderr after rejected credentials: the connection becomes `needs_auth`. */
  unauthorized?: RegExp | undefined;
  /** A page ends at the first STATE after this many records, default 1,000 … */
  pageRecords?: number | undefined;
  /** … or bytes of output, default 8 MB. */
  pageBytes?: number | undefined;
  /** Default: 8 MB. */
  maxLineBytes?: number | undefined;
  /** Between SIGTERM and SIGKILL. Default: 5 s. */
  graceSeconds?: number | undefined;
}

/** Lines are slightly longer than their stored form. */
const maxPage = { maxRecords: maxResult.signals, maxBytes: maxResult.pageBytes };

const noConfig = z.record(z.string(), z.unknown()).superRefine((config, { addIssue }) => {
  for (const key of Object.keys(config))
    addIssue({
      code: 'custom',
      path: [key],
      message: 'must be declared in configSchema of singer(), which is not set',
    });
});

/** A connector that runs a Singer tap. */
export function singer<
  const Provider extends string,
  ConfigSchema extends StandardSchemaV1 = StandardSchemaV1,
>(
  options: SingerOptions<Provider, ConfigSchema>,
): Connector<Provider, StandardSchemaV1.InferInput<ConfigSchema>> {
  const { provider, name, configSchema = noConfig as unknown as ConfigSchema } = options;
  const [program] = options.command;
  if (typeof program !== 'string' || program === '')
    throw new SynclineError(
      'CONFIG_INVALID',
      `command of "${provider}" must be a program and its arguments.`,
    );
  const catalogCache = createCatalogCache();
  return defineConnector({
    provider,
    name,
    cursorSchema,
    configSchema,
    sync: (context) => sync(options, catalogCache, context as SyncContext<TapCursor>),
  });
}

type TapContext = SyncContext<TapCursor>;

async function sync(
  options: SingerOptions,
  catalogCache: CatalogCache,
  context: TapContext,
): Promise<SyncResult<TapCursor>> {
  const { connection, cursor, log } = context;
  if (!isObject(connection.config))
    throw new PermanentError('connection.config must be an object: it becomes the config of the tap.');
  const fields = await credentialFields(context);
  const allowed = await allowedFields(fields, options.credentialSchema);
  const config = { ...(options.configSchema && connection.config), ...allowed, ...options.config };
  const folder = await makeFolder();
  try {
    const configFile = await folder.write('config.json', JSON.stringify(config));
    const run = tapRun(
      options,
      context,
      folder,
      createRedactor([fields, allowed], [connection.config, options.config, options.env]),
    );
    try {
      const catalog = await catalogFor(options, catalogCache, context, run, configFile);
      const files = ['--config', configFile];
      if (catalog !== undefined)
        files.push(
          options.catalogFlag ?? '--catalog',
          await folder.write('catalog.json', writeExactly(catalog)),
        );
      if (cursor?.state !== undefined)
        files.push('--state', await folder.write('state.json', writeExactly(cursor.state)));
      return await readPage(options, context, { ...run, arguments: files });
    } finally {
      // Also after failures: a refreshed token invalidates the old one.
      await saveRenewed(context, folder, config, { fields, allowed, schema: options.credentialSchema });
    }
  } finally {
    await folder.remove().catch(() => log.warn(`The folder ${folder.path} could not be removed.`));
  }
}

async function readPage(
  options: SingerOptions,
  { cursor, job, log, clock }: TapContext,
  run: TapRunOptions,
): Promise<SyncResult<TapCursor>> {
  const { pageRecords = 1000, pageBytes = 8 * 1024 * 1024, map } = options;
  const collector = createCollector(
    cursor,
    { pageRecords, pageBytes, ...maxPage },
    { log, now: clock.now, map },
  );
  const end = await runTap(run, (line) => {
    collector.take(line);
    return !collector.isFull();
  });
  if (end.outcome === 'finished') return collector.everything();
  const failed = end.outcome === 'failed';
  // Failing again after little progress must still back off.
  const failsAgain = failed && cursor?.walk?.failed === true && job.attempts === 0;
  const page = failsAgain ? undefined : collector.upToState(failed);
  if (!page) throw failed ? end.error : new PermanentError('The tap was stopped without a STATE.');
  if (failed) log.warn(`Records up to the last STATE are kept. ${end.error.message}`);
  return page;
}

function tapRun(
  options: SingerOptions,
  { abortSignal, log, clock }: TapContext,
  { path }: TapFolder,
  redact: (text: string) => string,
): TapRunOptions {
  const [program, ...fixedArguments] = options.command;
  return {
    // Relative to the engine's folder: the tap runs in another.
    command: [program.includes('/') ? resolve(program) : program, ...fixedArguments],
    arguments: [],
    cwd: options.cwd ?? path,
    env: {
      PATH: process.env['PATH'] ?? '',
      LANG: process.env['LANG'] ?? 'C.UTF-8',
      HOME: path,
      TMPDIR: path,
      ...options.env,
    },
    folder: path,
    graceMs: (options.graceSeconds ?? 5) * 1000,
    maxLineBytes: options.maxLineBytes ?? 8 * 1024 * 1024,
    unauthorized: options.unauthorized,
    abortSignal,
    clock,
    log,
    redact,
  };
}
