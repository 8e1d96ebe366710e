import { requireUuid } from '../values/arguments.ts';

/**
 * Tenant isolation in SQL, as in `:scope.sync_jobs`. Only writes of consumers name the owner. Tables without
 * a tenant column (attempts, feed) are read via rows found here.
 */
export interface Tables {
  tenants: string;
  connections: string;
  /** For lists and searches: adds indexed `listed_…` columns. */
  listed_connections: string;
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

const listedColumns = (id: string, alias: string) =>
  `c.*, ${alias}.${id} AS listed_id, ${alias}.tenant_id AS listed_tenant_id,
    ${alias}.external_id AS listed_external_id`;

/**
 * Compares the connection's own tenant too. `= ANY (ARRAY[…])` implies no condition on connections alone, by
 * which the planner could search all of them.
 */
const listedOf = (schema: string, id: string) =>
  `(SELECT ${listedColumns('connection_id', 'l')} FROM ${schema}.connection_lookup l
    JOIN ${schema}.connections c ON c.id = l.connection_id AND c.tenant_id = ANY (ARRAY[l.tenant_id])
    WHERE l.tenant_id = '${id}')`;

/** LEFT JOIN: omitted if no lookup column is read. */
const listedOfAll = (schema: string) =>
  `(SELECT ${listedColumns('connection_id', 'l')} FROM ${schema}.connections c
    LEFT JOIN ${schema}.connection_lookup l ON l.connection_id = c.id)`;

export function tablesWithoutLookup(schema: string, tenantId?: string): Tables {
  const tables = tablesOf(schema, tenantId);
  return {
    ...tables,
    listed_connections: `(SELECT ${listedColumns('id', 'c')} FROM ${tables.connections} c)`,
  };
}

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
    listed_connections: tenantId === undefined ? listedOfAll(schema) : listedOf(schema, tenantId),
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
