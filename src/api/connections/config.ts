import type { AuditNote, Recorder } from '../../caller/audit.ts';
import { changeConnection, existingConnection } from '../../caller/connection-access.ts';
import type { Connector } from '../../contract/connector.ts';
import { invalidArgument } from '../../contract/errors.ts';
import { type ConnectionRow, writeConfig } from '../../store/connections.ts';
import type { Database } from '../../store/database.ts';
import { requireSmall } from '../../values/arguments.ts';
import { maxConfigBytes } from '../../values/limits.ts';
import { hidden, hiddenField } from '../../values/redact.ts';
import { check } from '../../values/standard-schema.ts';

/**
 * Validates early instead of in the first run. Without the connector, only size and placeholders are checked.
 */
export async function requireConfig(
  name: string,
  config: unknown,
  connector: Connector | undefined,
): Promise<void> {
  requireSmall(name, config, maxConfigBytes);
  const field = hiddenField(config);
  if (field !== undefined)
    throw invalidArgument({
      field: name,
      expected: `free of the placeholder "${hidden}"`,
      value: `one in field ${field}`,
      hint: 'Pass the actual value.',
    });
  const problem = connector?.configSchema && (await check(connector.configSchema, config ?? {})).problem;
  if (problem)
    throw invalidArgument({
      field: name,
      expected: `valid for connector "${connector?.provider}": ${problem}`,
      hint: 'Correct the listed fields.',
    });
}

/** Replaces the connector configuration, effective from the next run. The cursor is kept. */
export async function changeConfig(
  { db, record, connectors }: { db: Database; record: Recorder; connectors: ReadonlyMap<string, Connector> },
  id: string,
  config: Record<string, unknown>,
  note: AuditNote,
): Promise<ConnectionRow> {
  return changeConnection({ db }, id, async (tx, row, now) => {
    await requireConfig('config', config, connectors.get(row.provider_slug));
    await writeConfig(tx, now, id, config);
    // Record no values: they may contain secrets.
    const subject = { tenantId: row.tenant_id, connectionId: id };
    await record(tx, now, { ...subject, kind: 'connection.config_changed' }, note);
    return existingConnection(tx, id);
  });
}
