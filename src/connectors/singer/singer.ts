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
import type { StreamChoice } from './catalog.ts';
import { createCollector } from './collect.ts';
import { allowedFields, credentialFields, saveRenewed } from './credential.ts';
import { cursorSchema, type TapCursor } from './cursor.ts';
import { createDiscovered, type Discovered } from './discovered.ts';
import { catalogFor } from './discovery.ts';
import { writeExactly } from './exact.ts';
import { makeFolder, type TapFolder } from './folder.ts';
import { createRedactor } from './redact.ts';
import { runTap, type TapRunOptions } from './run.ts';
import type { RecordMap } from './signal.ts';

export type { StreamChoice } from './catalog.ts';
export type { RecordMap } from './signal.ts';

export interface SingerOptions {
  /** The slug of the provider: what `connections.provider_slug` says. */
  provider: string;
  name: string;
  /** The program and its first arguments; no shell reads them. */
  command: readonly [string, ...string[]];
  /** What is to be read; asks the tap for its catalog unless `catalog` is given. Without both the tap decides. */
  streams?: readonly StreamChoice[] | undefined;
  catalog?: { streams: readonly unknown[] } | undefined;
  /** What taps of the first days call `--catalog`. */
  catalogFlag?: '--catalog' | '--properties' | undefined;
  /** Passed to every tap of this connector. It overrides `connection.config` and credentials. */
  config?: Readonly<Record<string, unknown>> | undefined;
  /**
   * What `connection.config` may hold, which tenants set: its output is passed to the tap. Let it remove or refuse unknown keys, as
   * `z.object` does: a tap may read files and call hosts that its config names. Without it `connection.config` must be empty.
   */
  configSchema?: StandardSchemaV1 | undefined;
  /** The same for the fields of a custom credential. Without it all of them are passed. */
  credentialSchema?: StandardSchemaV1 | undefined;
  map?: RecordMap | undefined;
  /** Added to the bare environment that a tap gets. */
  env?: Record<string, string> | undefined;
  /** Where the tap runs: its temporary folder unless given. */
  cwd?: string | undefined;
  /** What the end of stderr looks like when the credentials are refused: the connection then needs its user. */
  unauthorized?: RegExp | undefined;
  /** A page ends at the first STATE after so many records, 1,000 unless given. */
  pageRecords?: number | undefined;
  /** … or so many bytes of output, 8 MB unless given. */
  pageBytes?: number | undefined;
  /** The longest line, 8 MB unless given. */
  maxLineBytes?: number | undefined;
  /** How long a tap may take to end after SIGTERM, 5 s unless given. */
  graceSeconds?: number | undefined;
}

/** What the engine can store at once; see the limits of a page. Lines are a little longer than what is stored of them. */
const most = { maxRecords: 100_000, maxBytes: 32 * 1024 * 1024 };

/** Without a schema of the author's, no key of a tenant's reaches the tap. */
const noConfig = z.record(z.string(), z.unknown()).superRefine((config, { addIssue }) => {
  for (const key of Object.keys(config))
    addIssue({
      code: 'custom',
      path: [key],
      message: 'must be declared in the configSchema of singer(), which has none',
    });
});

/** A connector that runs a Singer tap. */
export function singer(options: SingerOptions): Connector {
  const { provider, name, configSchema = noConfig } = options;
  const [program] = options.command;
  if (typeof program !== 'string' || program === '')
    throw new SynclineError(
      'CONFIG_INVALID',
      `command of "${provider}" must be a program and its arguments.`,
    );
  const discovered = createDiscovered();
  return defineConnector({
    provider,
    name,
    cursorSchema,
    configSchema,
    sync: (context) => sync(options, discovered, context as SyncContext<TapCursor>),
  });
}

type TapContext = SyncContext<TapCursor>;

async function sync(
  options: SingerOptions,
  discovered: Discovered,
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
      const catalog = await catalogFor(options, discovered, context, run, configFile);
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
      // Also after a failure: a token that was renewed makes the one before it worthless.
      await saveRenewed(context, folder, config, { fields, allowed, schema: options.credentialSchema });
    }
  } finally {
    await folder.remove().catch(() => log.warn(`The folder ${folder.path} could not be removed.`));
  }
}

async function readPage(
  options: SingerOptions,
  { cursor, job, log }: TapContext,
  run: TapRunOptions,
): Promise<SyncResult<TapCursor>> {
  const { pageRecords = 1000, pageBytes = 8 * 1024 * 1024, map } = options;
  const collector = createCollector(cursor, { pageRecords, pageBytes, ...most }, log, map);
  const end = await runTap(run, (line) => {
    collector.take(line);
    return !collector.isFull();
  });
  if (end.how === 'finished') return collector.everything();
  const failed = end.how === 'failed';
  // A tap that fails again and again, and gets a little further every time, is to pause in between as others do.
  const failsAgain = failed && cursor?.walk?.failed === true && job.attempts === 0;
  const page = failsAgain ? undefined : collector.upToState(failed);
  if (!page) throw failed ? end.error : new PermanentError('The tap was stopped without a STATE.');
  if (failed) log.warn(`What came before the last STATE is kept. ${end.error.message}`);
  return page;
}

function tapRun(
  options: SingerOptions,
  { abortSignal, log }: TapContext,
  { path }: TapFolder,
  redact: (text: string) => string,
): TapRunOptions {
  const [program, ...fixed] = options.command;
  return {
    // A path is one from where the engine runs, though the tap runs elsewhere.
    command: [program.includes('/') ? resolve(program) : program, ...fixed],
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
    log,
    redact,
  };
}
