import type { Database, Queryable } from './database.ts';

type Enter = <T>(work: () => Promise<T>) => Promise<T>;

/** Callers cannot exhaust the pool. */
export function gated(db: Database, enter: Enter): Database {
  const queryable = (inner: Queryable): Queryable => ({
    ...inner,
    query: <Row extends object>(text: string, values?: unknown[], name?: string) =>
      enter(() => inner.query<Row>(text, values, name)),
  });
  return {
    ...db,
    ...queryable(db),
    within: (timeoutMs) => queryable(db.within(timeoutMs)),
    scopedTo: (tenantId) => gated(db.scopedTo(tenantId), enter),
    now: () => (db.clock.isFresh() ? db.now() : enter(() => db.now())),
    transaction: (work, options) => enter(() => db.transaction(work, options)),
  };
}
