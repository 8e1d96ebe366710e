import { requireUuid } from '../values/arguments.ts';
import { nilUuid } from '../values/uuid.ts';

/**
 * Tenant isolation in SQL, as in `:scope.sync_jobs`. Only writes of consumers name the owner. Tables without
 * a tenant column (attempts, feed) are read via rows found here; those without tenant data (providers,
 * schedulers) directly.
 */
export interface Relations {
  tenants: string;
  connections: string;
  /** For lists and searches: adds indexed `listed_…` columns, and `page_id`, indexed for pages without a filter. */
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

export interface Tables {
  readonly relations: Relations;
  /** The value of `$owner` in them: one text per statement, whichever tenant calls. */
  readonly owner: string;
}

/** tenant_id of the operator's rows. */
export const operatorId = nilUuid;

/** In a relation; sql.ts appends it to the parameters. */
export const ownerParameter = '$owner';

/** EXE-13: without jobs of another tenant's connection. */
const jobsOf = (schema: string) =>
  `(SELECT * FROM ${schema}.sync_jobs o WHERE o.tenant_id = ${ownerParameter}
    AND (SELECT c.tenant_id FROM ${schema}.connections c WHERE c.id = o.connection_id) = ${ownerParameter})`;

const listedColumns = (id: string, alias: string) =>
  `c.*, ${alias}.${id} AS listed_id, ${alias}.tenant_id AS listed_tenant_id,
    ${alias}.external_id AS listed_external_id`;

/**
 * Compares the connection's own tenant too. `= ANY (ARRAY[…])` implies no condition on connections alone, by
 * which the planner could search all of them.
 */
const listedOf = (schema: string) =>
  `(SELECT ${listedColumns('connection_id', 'l')}, l.connection_id AS page_id FROM ${schema}.connection_lookup l
    JOIN ${schema}.connections c ON c.id = l.connection_id AND c.tenant_id = ANY (ARRAY[l.tenant_id])
    WHERE l.tenant_id = ${ownerParameter})`;

/** LEFT JOIN: omitted if no lookup column is read. */
const listedOfAll = (schema: string) =>
  `(SELECT ${listedColumns('connection_id', 'l')}, c.id AS page_id FROM ${schema}.connections c
    LEFT JOIN ${schema}.connection_lookup l ON l.connection_id = c.id)`;

function relationsOf(schema: string, isScoped: boolean): Relations {
  const all = (table: string) => `${schema}.${table}`;
  const only = (table: string, column = 'tenant_id') =>
    `(SELECT * FROM ${schema}.${table} WHERE ${column} = ${ownerParameter})`;
  const scoped = isScoped ? only : all;
  return {
    tenants: isScoped ? only('tenants', 'id') : all('tenants'),
    connections: scoped('connections'),
    listed_connections: isScoped ? listedOf(schema) : listedOfAll(schema),
    sync_jobs: isScoped ? jobsOf(schema) : all('sync_jobs'),
    signals: scoped('signals'),
    events: scoped('events'),
    api_keys: scoped('api_keys'),
    webhooks: scoped('webhooks'),
    credentials: scoped('credentials'),
    deletions: scoped('deletions'),
    consumers: only('consumers'),
    rollups: only('rollups'),
    budgets: scoped('budgets'),
    processes: isScoped
      ? `(SELECT id, NULL::text AS host, NULL::integer AS pid, concurrency, providers, started_at,
           expires_at, 0 AS clock_skew_seconds FROM ${schema}.processes)`
      : all('processes'),
  };
}

function withoutLookup(relations: Relations): Relations {
  const columns = `${listedColumns('id', 'c')}, c.id AS page_id`;
  return { ...relations, listed_connections: `(SELECT ${columns} FROM ${relations.connections} c)` };
}

/** Once per schema: sql.ts keeps the texts of statements by their relations. */
const built = new Map<string, Relations>();

function builtOnce(schema: string, isScoped: boolean, hasLookup: boolean): Relations {
  const key = JSON.stringify([schema, isScoped, hasLookup]);
  let relations = built.get(key);
  if (!relations) {
    relations = relationsOf(schema, isScoped);
    if (!hasLookup) relations = withoutLookup(relations);
    built.set(key, relations);
  }
  return relations;
}

export function tablesOf(schema: string, tenantId?: string, hasLookup = true): Tables {
  if (tenantId !== undefined) requireUuid('tenantId', tenantId);
  const relations = builtOnce(schema, tenantId !== undefined, hasLookup);
  return { relations, owner: tenantId ?? operatorId };
}

export const tablesWithoutLookup = (schema: string, tenantId?: string): Tables =>
  tablesOf(schema, tenantId, false);
