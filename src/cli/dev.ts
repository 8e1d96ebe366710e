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
import type { Syncline } from '../index.ts';
import { createLogger } from '../platform/log.ts';
import { systemPorts } from '../platform/ports.ts';
import type { CommonOptions } from './engine.ts';
import { runService } from './service.ts';
import { logTo, terminal } from './terminal.ts';

/** Used without a configuration file. */
const demoDefaults = { scheduler: { tickIntervalSeconds: 10 }, log: { level: 'debug' as const } };

export function addDev(program: Command): void {
  program
    .command('dev')
    .description(
      'migrate and run locally; uses an embedded Postgres and demo data unless configured otherwise',
    )
    .addHelpText(
      'after',
      '\nExamples:\n  $ syncline dev\n  $ SYNCLINE_DATABASE_URL=postgres://localhost/app syncline dev',
    )
    .action(async (options: CommonOptions) => {
      const { cwd, env } = terminal();
      const file = await loadConfigFile(options.config, cwd);
      const configured = loadConfig({ env, file });
      const ownDatabase = configured.config.database.url !== undefined;
      const log = createLogger({ level: 'debug', readable: !options.json, to: logTo('stdout') });

      if (ownDatabase) {
        log.level = configured.config.log.level;
        const connectors = file?.connectors ?? [];
        return runService({ loaded: { ...configured, connectors }, log, prepare: migrate, localLogin: true });
      }
      const folder = embeddedDataFolder(cwd);
      log.info(`starting embedded Postgres, data in ${folder}`);
      const postgres = await startEmbeddedPostgres({ folder, keep: true, ports: systemPorts });
      try {
        const loaded = loadConfig({
          options: {
            database: postgres.url,
            ...(configured.config.credentials.keys.length === 0 && {
              credentials: { keys: [devKey(cwd)] },
            }),
          },
          env,
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
          // Slow to load; no other command needs it.
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
        const created = await makeDemo(syncline, systemPorts.now());
        log.info(
          created === 0 ? 'using existing data' : `created demo data: 5 tenants, ${created} connections`,
        );
        if (created === 0 && (await isOutdated(syncline)))
          log.warn(
            'the demo data is from an earlier version and its connections cannot sync. ' +
              `To start over, stop this process and delete ${folder}`,
          );
        log.info('to follow new signals, run in this directory: npx syncline signals tail');
        log.info('to add load, run in this directory: npx syncline demo load');
      }

      async function migrate(syncline: Syncline): Promise<void> {
        const { applied, schema, version } = await syncline.migrate();
        log.info(`schema "${schema}" is at version ${version}${applied.length ? `, just migrated` : ''}`);
      }
    });
}
