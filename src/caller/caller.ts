import { SynclineError } from '../contract/errors.ts';

/** Determines access and the recorded actor. */
export interface Caller {
  /** Undefined: operator. */
  tenantId?: string | undefined;
  actor: string;
  /** Used directly or through a session; stored with every event. */
  keyId?: string | undefined;
}

export function requireOperator({ tenantId }: Caller, action: string): void {
  if (tenantId !== undefined)
    throw new SynclineError('FORBIDDEN', `A tenant cannot ${action}.`, { hint: 'Use an operator key.' });
}
