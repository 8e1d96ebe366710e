import { requireUuid } from '../values/arguments.ts';

/**
 * What a statement may see, ready to stand in FROM with an alias. The one place where a tenant's limits enter SQL: of
 * everything that belongs to tenants, a view for one tenant has that tenant's rows and no others, whatever the statement
 * around it asks for. Rows that have no tenant of their own (attempts, feed) are only looked up by rows found here.
 */
export interface Tables {
  tenants: string;
  connections: string;
  jobs: string;
  signals: string;
  events: string;
  keys: string;
  webhooks: string;
  credentials: string;
  deletions: string;
  /** The tenant's own, or the operator's. */
  consumers: string;
  /** The tenant's own, or everybody's together. */
  rollups: string;
  /** The tenant's own; those of a whole app are the operator's. */
  budgets: string;
  /** Where executors run is the operator's business: a tenant sees that they are there. */
  processes: string;
}

/** Stands for the operator where a row needs a tenant. */
export const operatorId = '00000000-0000-0000-0000-000000000000';

/** EXE-13: a job that names this tenant but belongs to another one's connection is not this tenant's. */
const jobsOf = (schema: string, id: string) =>
  `(SELECT * FROM ${schema}.sync_jobs o WHERE o.tenant_id = '${id}'
    AND (SELECT c.tenant_id FROM ${schema}.connections c WHERE c.id = o.connection_id) = '${id}')`;

export function tablesOf(schema: string, tenantId?: string): Tables {
  if (tenantId !== undefined) requireUuid('tenantId', tenantId);
  const owner = tenantId ?? operatorId;
  const all = (table: string) => `${schema}.${table}`;
  const only = (table: string, column: string, id: string) =>
    `(SELECT * FROM ${schema}.${table} WHERE ${column} = '${id}')`;
  const scoped = (table: string, column = 'tenant_id') =>
    tenantId === undefined ? all(table) : only(table, column, tenantId);
  return {
    tenants: scoped('tenants', 'id'),
    connections: scoped('connections'),
    jobs: tenantId === undefined ? all('sync_jobs') : jobsOf(schema, tenantId),
    signals: scoped('signals'),
    events: scoped('events'),
    keys: scoped('api_keys'),
    webhooks: scoped('webhooks'),
    credentials: scoped('credentials'),
    deletions: scoped('deletions'),
    consumers: only('consumers', 'tenant_id', owner),
    rollups: only('rollups', 'tenant_id', owner),
    budgets: scoped('budgets'),
    processes:
      tenantId === undefined
        ? all('processes')
        : `(SELECT id, NULL::text AS host, NULL::integer AS pid, concurrency, providers, started_at, expires_at, 0 AS clock_skew_seconds FROM ${schema}.processes)`,
  };
}
