import type { Ports } from '../platform/ports.ts';
import type { Database, Queryable } from '../store/database.ts';
import { insertTenant, type TenantRow } from '../store/tenants.ts';
import { invalid, requireText, requireUuid } from '../values/arguments.ts';
import type { AuditNote, Recorder } from './audit.ts';
import { type Caller, requireOperator } from './caller.ts';

export type TenantOwner =
  | { tenantId: string; tenantName?: undefined }
  | {
      /** A new tenant, in the same transaction. Operators only. */
      tenantName: string;
      tenantId?: undefined;
    };

interface Owner {
  tenantId: string;
  store: (tx: Queryable, now: Date, note: AuditNote) => Promise<void>;
}

export async function tenantOwner(
  {
    db,
    ports,
    caller,
    record,
  }: { db: Pick<Database, 'now'>; ports: Pick<Ports, 'newId'>; caller: Caller; record: Recorder },
  { tenantId, tenantName }: TenantOwner,
): Promise<Owner> {
  if (tenantName === undefined) {
    requireUuid('tenantId', tenantId);
    return { tenantId, store: async () => {} };
  }
  if (tenantId !== undefined)
    throw invalid('tenantId and tenantName cannot be combined.', 'Remove one of them.');
  requireOperator(caller, 'create tenants');
  requireText('tenantName', tenantName, 200);
  // DB-6: the id begins with the time.
  await db.now();
  const id = ports.newId();
  return {
    tenantId: id,
    store: async (tx, now, note) => {
      await storeTenant(tx, now, { id, name: tenantName }, record, note);
    },
  };
}

export async function storeTenant(
  tx: Queryable,
  now: Date,
  { id, name }: { id: string; name: string },
  record: Recorder,
  note?: AuditNote,
): Promise<TenantRow> {
  const row = await insertTenant(tx, now, id, name);
  await record(tx, now, { tenantId: id, kind: 'tenant.created', detail: { name } }, note);
  return row;
}
