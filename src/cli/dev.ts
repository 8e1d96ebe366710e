import type { Command } from 'commander';
import { loadConfigFile } from '../config/file.ts';
import { loadConfig } from '../config/load.ts';
import {
  demoProviders,
  devKey,
  embeddedDataFolder,
  isOutdated,
  makeDemo,
  type ProviderServer,
  startEmbeddedPostgres,
  withProviderServer,
} from '../dev/index.ts';
import type { DemoProviders } from '../http/index.ts';
import type { Syncline } from '../index.ts';
import { createLogger } from '../platform/log.ts';
import { systemPorts } from '../platform/ports.ts';
import type { CommonOptions } from './engine.ts';
import { runService } from './service.ts';
import { logTo, terminal } from './terminal.ts';

const demoDefaults = { scheduler: { tickIntervalSeconds: 10 } };

const tips = [
  'npx syncline demo break github   fail all requests until `demo heal github`',
  'npx syncline signals tail        follow new signals',
  'npx syncline demo load           add 2,000 connections',
];

export function addDev(program: Command): void {
  program
    .command('dev')
    .description(
      'migrate and run locally. Without a configured database: start an embedded Postgres; if also no ' +
        'connectors are configured: create demo data',
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
      const readable = !options.json;
      const log = createLogger({ level: configured.config.log.level, readable, to: logTo('stdout') });
      const service = { log, readable, isDev: true };

      if (ownDatabase) {
        const connectors = file?.connectors ?? [];
        return runService({ ...service, loaded: { ...configured, connectors }, prepare: migrate });
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
        if (file && file.connectors.length > 0)
          return await runService({
            ...service,
            loaded: { ...loaded, connectors: file.connectors },
            prepare: migrate,
          });
        await withProviderServer(systemPorts, async (server) => {
          // Slow to load.
          const { demoConnectors } = await import('../dev/demo-connectors.ts');
          const connectors = demoConnectors(server.url);
          return runService({
            ...service,
            loaded: { ...loaded, connectors },
            prepare: prepareDemo,
            demo: breakableProviders(server),
            tips,
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
            'an earlier version created the demo data, so its connections cannot sync. ' +
              `To start over, stop this process and delete ${folder}`,
          );
      }

      async function migrate(syncline: Syncline): Promise<void> {
        const { applied, schema, version } = await syncline.migrate();
        log.info(`schema "${schema}" is at version ${version}${applied.length ? ', after a migration' : ''}`);
      }
    });
}

function breakableProviders({ broken }: ProviderServer): DemoProviders {
  return {
    list: () =>
      demoProviders.map(({ slug, displayName }) => ({ slug, name: displayName, isBroken: broken.has(slug) })),
    setBroken(slug, isBroken) {
      if (!demoProviders.some((provider) => provider.slug === slug)) return false;
      if (isBroken) broken.add(slug);
      else broken.delete(slug);
      return true;
    },
  };
}
