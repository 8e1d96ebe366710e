import { requireUuid } from '../values/arguments.ts';

/**
 * Relations for FROM, named `:scope.sync_jobs` in statements: the only place where tenant isolation
 * enters SQL. Tables without a tenant column (attempts, feed) are read via rows found here.
 */
export interface Tables {
  tenants: string;
  connections: string;
  sync_jobs: string;
  signals: string;
  events: string;
  api_keys: string;
  webhooks: string;
  credentials: string;
  deletions: string;
  /** The tenant's, or the operator's. */
  consumers: string;
  /** The tenant's, or all tenants' totals. */
  rollups: string;
  /** Shared budgets are the operator's. */
  budgets: string;
  /** Host and pid: operator only. */
  processes: string;
}

/** tenant_id of the operator's rows. */
export const operatorId = '00000000-0000-0000-0000-000000000000';

/** EXE-13: without jobs of another tenant's connection. */
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
    sync_jobs: tenantId === undefined ? all('sync_jobs') : jobsOf(schema, tenantId),
    signals: scoped('signals'),
    events: scoped('events'),
    api_keys: scoped('api_keys'),
    webhooks: scoped('webhooks'),
    credentials: scoped('credentials'),
    deletions: scoped('deletions'),
    consumers: only('consumers', 'tenant_id', owner),
    rollups: only('rollups', 'tenant_id', owner),
    budgets: scoped('budgets'),
    processes:
      tenantId === undefined
        ? all('processes')
        : `(SELECT id, NULL::text AS host, NULL::integer AS pid, concurrency, providers, started_at,
             expires_at, 0 AS clock_skew_seconds FROM ${schema}.processes)`,
  };
}
