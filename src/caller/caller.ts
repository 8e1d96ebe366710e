import { SynclineError } from '../contract/errors.ts';

/** For whom the engine works: what may be seen, and under whose name changes are recorded. */
export interface Caller {
  /** Limits everything to one tenant; without it, the operator. */
  tenantId?: string | undefined;
  actor: string;
  /** The API key that the caller uses, itself or through its session; stored with every event. */
  keyId?: string | undefined;
}

/** Some things concern everybody, and a tenant may not do them. */
export function requireOperator({ tenantId }: Caller, what: string): void {
  if (tenantId !== undefined)
    throw new SynclineError('FORBIDDEN', `A tenant cannot ${what}.`, { hint: 'Use an operator key.' });
}
