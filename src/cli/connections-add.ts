import type { Command } from 'commander';
import type { Connector } from '../contract/connector.ts';
import { type Connection, connectionJson, type Syncline } from '../index.ts';
import { invalid, requireText, requireUuid } from '../values/arguments.ts';
import { requireConfig } from '../values/connection-config.ts';
import { omitUndefined } from '../values/omit-undefined.ts';
import { nearest } from '../values/suggest.ts';
import { connectionLines } from './connection-lines.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { auditNoteOf, jsonObject } from './options.ts';
import { printResult } from './output.ts';
import { intervalOf, type ScheduleOptions, scheduleOf, withSchedule } from './schedule-options.ts';
import { type TenantOptions, tenantOf, withProviderHint, withTenant } from './tenant-option.ts';

interface AddOptions extends CommonOptions, TenantOptions, ScheduleOptions {
  provider: string;
  externalId?: string;
  credential?: string;
  configJson?: string;
  register?: boolean;
}

export function addConnectionsAdd(group: Command): void {
  const command = group
    .command('add')
    .description('add a connection; the next scheduler tick queues its first run')
    .requiredOption('--provider <slug>', 'provider, such as github');
  withTenant(command, 'tenant of the connection')
    .option('--external-id <id>', 'account name or ID at the provider')
    .option('--credential <id>', 'credential, from `credentials list`; also selects its tenant');
  withSchedule(command, 'sync interval (default: scheduler.defaultIntervalSeconds)')
    .option('--config-json <json>', 'connector configuration, as a JSON object')
    .option('--register', 'register the provider if it is unknown')
    .addHelpText(
      'after',
      `
One of --tenant, --tenant-name and --credential is required. A provider with a connector in the configuration
file is registered automatically. The connector validates --config-json.

Examples:
  $ syncline connections add --provider github --tenant-name Northwind --interval 300
  $ syncline connections add --provider github --tenant-name Northwind --cron '0 6 * * 1-5' \\
      --time-zone Europe/Berlin
  $ syncline connections add --provider github --credential 0190f5e2-7c1a-7000-8000-2b6f1d0e7a11
  $ syncline connections add --provider github --tenant 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 \\
      --external-id acme --config-json '{"repositories":["acme/app"]}' --json`,
    )
    .action(async (options: AddOptions) => {
      const { connection, why } = await withEngine(options, async (syncline, { connectors }) => {
        const connection = await create(syncline, options, connectors);
        return { connection, why: await syncline.connections.explain(connection.id) };
      });
      printResult(options.json, connectionJson(connection), () => [
        connection.status === 'active'
          ? 'Connection added; the next tick queues its first run.'
          : `Connection added. ${why.sentence}`,
        ...connectionLines(connection),
      ]);
    });
}

async function create(
  syncline: Syncline,
  options: AddOptions,
  connectors: readonly Connector[],
): Promise<Connection> {
  const { provider, externalId, credential, configJson } = options;
  requireText('--provider', provider, 200);
  const input = {
    provider,
    ...omitUndefined({
      externalId,
      credentialId: credential,
      intervalSeconds: intervalOf(options, syncline.config.scheduler),
      schedule: scheduleOf(options),
      config: configJson === undefined ? undefined : jsonObject('--config-json', configJson),
    }),
  };
  const tenant = tenantOf(credential === undefined ? options : await ownerOf(syncline, credential, options), {
    orCredential: true,
  });
  const connector = connectors.find((candidate) => candidate.provider === provider);
  await requireConfig('--config-json', input.config, connector);

  if (options.register) await syncline.providers.register({ slug: provider });
  const closest = nearest(
    provider,
    connectors.map((known) => known.provider),
  );
  const advice = closest ? `Did you mean ${closest}? If not, pass` : 'Pass';
  const hint = `${advice} --register to register it, or add a connector for it to syncline.config.ts.`;
  return syncline.connections.create({ ...tenant, ...input }, auditNoteOf({})).catch(withProviderHint(hint));
}

async function ownerOf(
  { credentials }: Syncline,
  credential: string,
  { tenant, tenantName }: TenantOptions,
): Promise<TenantOptions> {
  requireUuid('--credential', credential);
  if (tenantName !== undefined)
    throw invalid(
      '--credential cannot be combined with --tenant-name: the credential selects its tenant.',
      'Remove --tenant-name.',
    );
  return { tenant: tenant ?? (await credentials.get(credential)).tenantId };
}
