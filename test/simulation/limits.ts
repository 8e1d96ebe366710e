/** Server timeouts of the open transaction, enforced in virtual time instead of by the server. */
export interface Limits {
  lockMs: number;
  statementMs: number;
  idleMs: number;
}

export const unlimited: Limits = {
  lockMs: Number.POSITIVE_INFINITY,
  statementMs: Number.POSITIVE_INFINITY,
  idleMs: Number.POSITIVE_INFINITY,
};

const limitNames = {
  lock_timeout: 'lockMs',
  statement_timeout: 'statementMs',
  idle_in_transaction_session_timeout: 'idleMs',
} as const;
const limitPattern =
  /set_config\('(lock_timeout|statement_timeout|idle_in_transaction_session_timeout)', '(\d+)', (true|false)\)/g;

export function withoutLimits(text: string): { text: string; limits: Limits } {
  const limits = { ...unlimited };
  const unlimitedText = text.replaceAll(
    limitPattern,
    (_, name: keyof typeof limitNames, ms: string, isLocal: string) => {
      if (Number(ms) > 0) limits[limitNames[name]] = Number(ms);
      return `set_config('${name}', '0', ${isLocal})`;
    },
  );
  return { text: unlimitedText, limits };
}
