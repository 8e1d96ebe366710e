import { SynclineError } from '../contract/errors.ts';
import type { Queryable } from '../store/database.ts';
import { missingPrivileges } from '../store/health/shape.ts';

const maxShown = 5;

export async function withMissingGrants(db: Queryable, error: unknown): Promise<unknown> {
  const isPrivilege =
    error instanceof SynclineError && (error.cause as { code?: string } | undefined)?.code === '42501';
  if (!isPrivilege) return error;
  const missing = await missingPrivileges(db).catch(() => []);
  if (missing.length === 0) return error;
  const grants = missing
    .slice(0, maxShown)
    .map((privilege) => `GRANT ${privilege.missing} TO ${privilege.grantee};`);
  const more = missing.length > maxShown ? ' `syncline doctor` lists the others.' : '';
  return error.withHint(`Run: ${grants.join(' ')}${more}`);
}
