import type { Command } from 'commander';
import type { Connection } from '../api/index.ts';
import { connectionJson, requireConfig } from '../api/index.ts';
import type { Connector } from '../contract/connector.ts';
import { minIntervalSeconds } from '../schedule/interval.ts';
import type { Syncline } from '../syncline.ts';
import { invalid, requireText, requireUuid } from '../values/arguments.ts';
import { connectionLines } from './connection-lines.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { doerOf, given, jsonObject, wholeNumber } from './options.ts';
import { answer } from './output.ts';
import {
  checkTenant,
  forTenant,
  type TenantOptions,
  withProviderRemedy,
  withTenant,
} from './tenant-option.ts';

interface AddOptions extends CommonOptions, TenantOptions {
  provider: string;
  externalId?: string;
  credential?: string;
  interval?: string;
  configJson?: string;
  register?: boolean;
}

export function addConnectionsAdd(group: Command): void {
  const command = group
    .command('add')
    .description("connect a tenant's account; it is synced from the next tick on")
    .requiredOption('--provider <slug>', 'the provider, such as github');
  withTenant(command, 'whose account it is')
    .option('--external-id <id>', 'what the provider calls the account')
    .option(
      '--credential <id>',
      'what opens the provider, as `credentials list` shows it; the connection is its tenant’s',
    )
    .option('--interval <seconds>', 'how often to sync it; the default interval unless given')
    .option('--config-json <json>', 'what its connector is told: a JSON object')
    .option('--register', 'register the provider if it is not known yet')
    .addHelpText(
      'after',
      `
A provider that has a connector in the configuration file is registered by itself, and its config is checked by it.

Examples:
  $ syncline connections add --provider github --tenant-name Northwind --interval 300
  $ syncline connections add --provider github --credential 0190f5e2-7c1a-7000-8000-2b6f1d0e7a11
  $ syncline connections add --provider github --tenant 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 \\
      --external-id acme --config-json '{"repositories":["acme/app"]}' --json`,
    )
    .action(async (options: AddOptions) => {
      const { connection, why } = await withEngine(options, async (syncline, { connectors }) => {
        const connection = await create(syncline, options, connectors);
        return { connection, why: await syncline.connections.explain(connection.id) };
      });
      answer(options.json, connectionJson(connection), () => [
        connection.status === 'active'
          ? 'Added a connection; the next tick places its first run.'
          : `Added a connection. ${why.sentence}`,
        ...connectionLines(connection),
      ]);
    });
}

/** What can be told beforehand is refused before anything is written. */
async function create(
  syncline: Syncline,
  options: AddOptions,
  connectors: readonly Connector[],
): Promise<Connection> {
  const { provider, externalId, credential, interval, configJson } = options;
  const { maxOverriddenIntervalSeconds } = syncline.config.scheduler;
  requireText('--provider', provider, 200);
  const input = {
    provider,
    ...given({
      externalId,
      credentialId: credential,
      intervalSeconds:
        interval === undefined
          ? undefined
          : wholeNumber('--interval', interval, minIntervalSeconds, maxOverriddenIntervalSeconds),
      config: configJson === undefined ? undefined : jsonObject('--config-json', configJson),
    }),
  };
  const whose = credential === undefined ? options : await ownerOf(syncline, credential, options);
  checkTenant(whose);
  const connector = connectors.find((one) => one.provider === provider);
  await requireConfig('--config-json', input.config, connector);

  if (options.register) await syncline.providers.register({ slug: provider });
  const remedy = 'Add --register to register it, or a connector for it to syncline.config.ts.';
  return forTenant(syncline, whose, (tenantId) =>
    syncline.connections
      .create({ tenantId, ...input }, doerOf({}))
      .catch(withProviderRemedy(provider, remedy)),
  );
}

/** A credential has a tenant, so that it need not be named once more. */
async function ownerOf(
  { credentials }: Syncline,
  credential: string,
  { tenant, tenantName }: TenantOptions,
): Promise<TenantOptions> {
  requireUuid('--credential', credential);
  if (tenantName !== undefined)
    throw invalid('A credential is one of a tenant that is there already.', 'Leave out --tenant-name.');
  return { tenant: tenant ?? (await credentials.get(credential)).tenantId };
}
