import type { Ports } from '../platform/ports.ts';
import type { Database, Queryable } from '../store/database.ts';
import { insertTenant } from '../store/tenants.ts';
import { invalid, requireText, requireUuid } from '../values/arguments.ts';
import type { AuditNote, Recorder } from './audit.ts';
import { type Caller, requireOperator } from './caller.ts';

/** An existing tenant, or a new one. */
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
    store: (tx, now, note) => storeTenant(tx, now, { id, name: tenantName }, record, note),
  };
}

export async function storeTenant(
  tx: Queryable,
  now: Date,
  { id, name }: { id: string; name: string },
  record: Recorder,
  note?: AuditNote,
): Promise<void> {
  await insertTenant(tx, now, id, name);
  await record(tx, now, { tenantId: id, kind: 'tenant.created', detail: { name } }, note);
}
