import type { AuditNote, Recorder } from '../../caller/audit.ts';
import { changeConnection } from '../../caller/connection-access.ts';
import type { Connector } from '../../contract/connector.ts';
import { writeConfig } from '../../store/connections.ts';
import type { Database } from '../../store/database.ts';
import { invalid, requireSmall } from '../../values/arguments.ts';
import { hiddenField } from '../../values/redact.ts';
import { check } from '../../values/standard-schema.ts';

/** Of `config`, and of `metadata`. */
export const maxConfigBytes = 64 * 1024;

/** Refused here, where somebody is looking, rather than by the first run; a process without the connector cannot tell. */
export async function requireConfig(
  name: string,
  config: unknown,
  connector: Connector | undefined,
): Promise<void> {
  requireSmall(name, config, maxConfigBytes);
  const field = hiddenField(config);
  if (field !== undefined)
    throw invalid(
      `${name} holds "[hidden]" as ${field}, which is shown in place of what is there.`,
      'Give the value itself.',
    );
  const problem = connector?.configSchema && (await check(connector.configSchema, config ?? {})).problem;
  if (problem)
    throw invalid(
      `${name} is not what the connector of ${connector?.provider} wants: ${problem}.`,
      'Correct it.',
    );
}

/** Tells a connection's connector something else, from its next run on. The cursor stays: what it means is the connector's business. */
export async function changeConfig(
  { db, record, connectors }: { db: Database; record: Recorder; connectors: ReadonlyMap<string, Connector> },
  id: string,
  config: Record<string, unknown>,
  doer: AuditNote,
): Promise<void> {
  await changeConnection({ db }, id, async (tx, row, now) => {
    await requireConfig('config', config, connectors.get(row.provider_slug));
    await writeConfig(tx, now, id, config);
    // Without the values: an author may have put a secret there.
    const concerns = { tenantId: row.tenant_id, connectionId: id };
    await record(tx, now, { ...concerns, kind: 'connection.config_changed' }, doer);
  });
}
