import type { AuditNote, Recorder } from '../../caller/audit.ts';
import { changeConnection, existingConnection } from '../../caller/connection-access.ts';
import type { Connector } from '../../contract/connector.ts';
import { type ConnectionRow, writeConfig } from '../../store/connections.ts';
import type { Database } from '../../store/database.ts';
import { requireConfig } from '../../values/connection-config.ts';

/** Keeps the cursor. */
export async function changeConfig(
  { db, record, connectors }: { db: Database; record: Recorder; connectors: ReadonlyMap<string, Connector> },
  id: string,
  config: Record<string, unknown>,
  note: AuditNote,
): Promise<ConnectionRow> {
  return changeConnection({ db }, id, async (tx, row, now) => {
    await requireConfig('config', config, connectors.get(row.provider_slug));
    await writeConfig(tx, now, id, config);
    // Without values: they may contain secrets.
    const subject = { tenantId: row.tenant_id, connectionId: id };
    await record(tx, now, { ...subject, kind: 'connection.config_changed' }, note);
    return existingConnection(tx, id);
  });
}
