import type { Command } from 'commander';
import { loadConfigFile } from '../config/file.ts';
import { loadConfig } from '../config/load.ts';
import {
  devKey,
  embeddedDataFolder,
  isOutdated,
  makeDemo,
  startEmbeddedPostgres,
  withProviderServer,
} from '../dev/index.ts';
import { systemPorts } from '../platform/ports.ts';
import type { Syncline } from '../syncline.ts';
import { createLogger } from '../telemetry/index.ts';
import { type CommonOptions, warnAll } from './engine.ts';
import { runService } from './service.ts';

/** Where nothing else is configured: a demo that moves. */
const demoDefaults = { scheduler: { tickIntervalSeconds: 10 }, log: { level: 'debug' as const } };

export function addDev(program: Command): void {
  program
    .command('dev')
    .description(
      'try Syncline: migrate and run, on an embedded Postgres unless a database is configured, with a demo unless connectors are',
    )
    .addHelpText(
      'after',
      '\nExamples:\n  $ syncline dev\n  $ SYNCLINE_DATABASE_URL=postgres://localhost/app syncline dev',
    )
    .action(async (options: CommonOptions) => {
      const file = await loadConfigFile(options.config);
      const configured = loadConfig({ env: process.env, file });
      const ownDatabase = configured.config.database.url !== undefined;
      const log = createLogger({ level: 'debug', readable: !options.json, to: 'stdout' });
      warnAll(log, configured);

      if (ownDatabase) {
        log.level = configured.config.log.level;
        const connectors = file?.connectors ?? [];
        return runService({ loaded: { ...configured, connectors }, log, prepare: migrate, localLogin: true });
      }
      const folder = embeddedDataFolder(process.cwd());
      log.info(`starting an embedded Postgres, its data in ${folder}`);
      const postgres = await startEmbeddedPostgres({ folder, keep: true });
      try {
        const loaded = loadConfig({
          options: {
            database: postgres.url,
            ...(configured.config.credentials.keys.length === 0 && {
              credentials: { keys: [devKey(process.cwd())] },
            }),
          },
          env: process.env,
          file: file ?? { path: 'the demo', options: demoDefaults },
        });
        log.level = loaded.config.log.level;
        if (file && file.connectors.length > 0)
          return await runService({
            loaded: { ...loaded, connectors: file.connectors },
            log,
            prepare: migrate,
            localLogin: true,
          });
        await withProviderServer(systemPorts, async (providersUrl) => {
          // Here alone, because it takes a while to load, and no other command needs it.
          const { demoConnectors } = await import('../dev/demo-connectors.ts');
          const connectors = demoConnectors(providersUrl);
          return runService({
            loaded: { ...loaded, connectors },
            log,
            prepare: prepareDemo,
            localLogin: true,
          });
        });
      } finally {
        await postgres.stop();
      }

      async function prepareDemo(syncline: Syncline): Promise<void> {
        await migrate(syncline);
        const made = await makeDemo(syncline, systemPorts.now());
        log.info(
          made === 0 ? 'going on with the data that is there' : `made a demo: 5 tenants, ${made} connections`,
        );
        if (made === 0 && (await isOutdated(syncline)))
          log.warn(
            `the demo that is there was made by an earlier version: its connections cannot be synced any more. To start with a new one, end this and remove ${folder}`,
          );
        log.info('to watch what comes in, in another terminal, in this folder: npx syncline signals tail');
        log.info('to see it under load, there too: npx syncline demo load');
      }

      async function migrate(syncline: Syncline): Promise<void> {
        const { applied, schema, version } = await syncline.migrate();
        log.info(`schema "${schema}" is at version ${version}${applied.length ? `, just migrated` : ''}`);
      }
    });
}
