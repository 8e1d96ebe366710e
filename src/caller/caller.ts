import { SynclineError } from '../contract/errors.ts';

/** Determines what is visible and which actor changes are recorded under. */
export interface Caller {
  /** Restricts access to one tenant; undefined: operator. */
  tenantId?: string | undefined;
  actor: string;
  /** API key used, directly or through a session; stored with every event. */
  keyId?: string | undefined;
}

/** Throws FORBIDDEN for tenants. */
export function requireOperator({ tenantId }: Caller, action: string): void {
  if (tenantId !== undefined)
    throw new SynclineError('FORBIDDEN', `A tenant cannot ${action}.`, { hint: 'Use an operator key.' });
}
