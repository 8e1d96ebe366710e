import { type Command, Option } from 'commander';
import { invalid, requireText, requireUuid } from '../checks.ts';
import type { Connection } from '../connection.ts';
import { SynclineError } from '../errors.ts';
import { connectionJson } from '../json.ts';
import { minIntervalSeconds } from '../schedule/interval.ts';
import type { Syncline } from '../syncline.ts';
import { connectionLines } from './connection-lines.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { doerOf, given, jsonObject, wholeNumber } from './options.ts';
import { answer } from './output.ts';

interface AddOptions extends CommonOptions {
  provider: string;
  tenant?: string;
  tenantName?: string;
  externalId?: string;
  credential?: string;
  interval?: string;
  configJson?: string;
  register?: boolean;
}

export function addConnectionsAdd(group: Command): void {
  group
    .command('add')
    .description("connect a tenant's account; it is synced from the next tick on")
    .requiredOption('--provider <slug>', 'the provider, such as github')
    .option('--tenant <id>', 'whose account it is')
    .addOption(
      new Option('--tenant-name <name>', 'makes a new tenant of that name instead').conflicts('tenant'),
    )
    .option('--external-id <id>', 'what the provider calls the account')
    .option(
      '--credential <id>',
      'what opens the provider: one of the same tenant, as `credentials list` shows it',
    )
    .option('--interval <seconds>', 'how often to sync it; the default interval unless given')
    .option('--config-json <json>', 'what its connector is told: a JSON object')
    .option('--register', 'register the provider if it is not known yet')
    .addHelpText(
      'after',
      `
A provider that has a connector in the configuration file is registered by itself.

Examples:
  $ syncline connections add --provider github --tenant-name Northwind --interval 300
  $ syncline connections add --provider github --tenant 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 \\
      --external-id acme --config-json '{"repository":"acme/app"}' --json`,
    )
    .action(async (options: AddOptions) => {
      const connection = await withEngine(options, (syncline) => create(syncline, options));
      answer(options.json, connectionJson(connection), () => [
        'Added a connection; the next tick places its first run.',
        ...connectionLines(connection),
      ]);
    });
}

/** What can be told beforehand is refused before anything is written. */
async function create(syncline: Syncline, options: AddOptions): Promise<Connection> {
  const { provider, tenant, tenantName, externalId, credential, interval, configJson } = options;
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
  if (credential !== undefined) requireUuid('--credential', credential);
  if (credential !== undefined && tenant === undefined)
    throw invalid(
      'A credential is one of a tenant that is there already.',
      'Give --tenant <id> with --credential.',
    );
  if (tenant !== undefined) requireUuid('--tenant', tenant);
  else if (tenantName !== undefined) requireText('--tenant-name', tenantName, 200);
  else
    throw invalid(
      'Neither --tenant nor --tenant-name is given.',
      'Give --tenant <id>, or --tenant-name <name> to make a new tenant.',
    );

  if (options.register) await syncline.providers.register({ slug: provider });
  const tenantId = tenant ?? (await syncline.tenants.create({ name: tenantName as string })).id;
  return syncline.connections.create({ tenantId, ...input }, doerOf({})).catch((error: unknown) => {
    throw withRemedy(error, provider, tenant === undefined ? tenantId : undefined);
  });
}

function withRemedy(error: unknown, provider: string, newTenantId: string | undefined): unknown {
  if (!(error instanceof SynclineError) || error.message !== `There is no provider "${provider}".`)
    return error;
  const instead = newTenantId
    ? `; the tenant was made, so give --tenant ${newTenantId} in place of its name`
    : '';
  return new SynclineError(error.code, error.message, {
    hint: `Add --register to register it, or a connector for it to syncline.config.ts${instead}.`,
    cause: error,
  });
}
