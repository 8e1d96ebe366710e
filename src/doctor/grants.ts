import { SynclineError } from '../contract/errors.ts';
import type { Queryable } from '../store/database.ts';
import { missingPrivileges } from '../store/health/shape.ts';

const maxShown = 5;

/** An error that says which privilege is missing also says how to grant it, and what else is missing. */
export async function withMissingGrants(db: Queryable, error: unknown): Promise<unknown> {
  const isPrivilege =
    error instanceof SynclineError && (error.cause as { code?: string } | undefined)?.code === '42501';
  if (!isPrivilege) return error;
  const missing = await missingPrivileges(db).catch(() => []);
  if (missing.length === 0) return error;
  const grants = missing.slice(0, maxShown).map((one) => `GRANT ${one.missing} TO ${one.grantee};`);
  const more = missing.length > maxShown ? ' `syncline doctor` lists the others.' : '';
  return new SynclineError(error.code, error.message, {
    hint: `Run: ${grants.join(' ')}${more}`,
    cause: error.cause,
  });
}
