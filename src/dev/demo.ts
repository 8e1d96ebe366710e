import { randomUUID } from 'node:crypto';
import type { Queryable } from '../store/database.ts';
import { sql, unnest } from '../store/sql.ts';
import type { Syncline } from '../syncline.ts';
import { type DemoAccount, demoAccounts, demoProviders, demoTenants } from './demo-accounts.ts';
import { demoCredentials } from './demo-credentials.ts';
import { withDemoDatabase } from './demo-database.ts';

const demo = { actor: 'demo' };

const findTenantSql = sql<object>`SELECT FROM :schema.tenants LIMIT 1`;

export async function makeDemo(syncline: Syncline, nowMs: number): Promise<number> {
  return withDemoDatabase(syncline, async (database) => {
    if (await findTenantSql.first(database)) return 0;

    for (const { slug, displayName } of demoProviders)
      await syncline.providers.register({ slug, displayName, authType: 'api_key' });
    const created = await Promise.all(demoTenants.map((name) => syncline.tenants.create({ name })));
    const tenantIds = new Map(created.map(({ id, name }) => [name, id]));
    const tenantIdOf = ({ tenant }: DemoAccount) => tenantIds.get(tenant) ?? '';
    const credentialOf = demoCredentials(syncline);
    const credentialIds = await Promise.all(
      demoAccounts.map((account) => credentialOf({ ...account, tenantId: tenantIdOf(account) })),
    );
    const pastRuns: PastRun[] = [];
    for (const [i, account] of demoAccounts.entries()) {
      const nextRunMs = i % 6 === 0 ? undefined : nowMs + firstDueSeconds(i) * 1000;
      const id = await connect(syncline, {
        tenantId: tenantIdOf(account),
        credentialId: credentialIds[i],
        account,
        nextRunMs,
      });
      if (nextRunMs !== undefined) pastRuns.push(...runsBefore(nextRunMs, id, account.intervalSeconds));
      if (account.pausedBecause !== undefined)
        await syncline.connections.pause(id, { ...demo, reason: account.pausedBecause });
    }
    await insertPastRuns(database, pastRuns);
    return demoAccounts.length;
  });
}

const findOutdatedSql = sql<object>`
  SELECT FROM :schema.connections
  WHERE metadata @> '{"demo": true}' AND config ?& '{account,token}' LIMIT 1`;

/** Earlier versions kept tokens in `config`. */
export function isOutdated(syncline: Syncline): Promise<boolean> {
  return withDemoDatabase(
    syncline,
    async (database) => (await findOutdatedSql.first(database)) !== undefined,
  );
}

/** 9 s early, because jitter is added. */
const firstDueSeconds = (i: number) => (60 * i) / demoAccounts.length - 9;

async function connect(
  syncline: Syncline,
  {
    tenantId,
    credentialId,
    account: { provider, externalId, config, intervalSeconds },
    nextRunMs,
  }: {
    tenantId: string;
    credentialId: string | undefined;
    account: DemoAccount;
    nextRunMs: number | undefined;
  },
): Promise<string> {
  const sync = nextRunMs === undefined ? {} : { next_run_at: new Date(nextRunMs).toISOString() };
  const { id } = await syncline.connections.create(
    {
      tenantId,
      provider,
      externalId,
      intervalSeconds,
      config,
      credentialId,
      // Marks the demo for `demo load`.
      metadata: { demo: true, sync },
    },
    demo,
  );
  return id;
}

interface PastRun {
  connectionId: string;
  endedMs: number;
}

const pastRunsPerConnection = 5;
const runMs = 240;

function runsBefore(nextRunMs: number, connectionId: string, intervalSeconds: number): PastRun[] {
  return Array.from({ length: pastRunsPerConnection }, (_, i) => ({
    connectionId,
    endedMs: nextRunMs - (i + 1) * intervalSeconds * 1000,
  }));
}

const insertPastRunsSql = sql<object>`
  INSERT INTO :schema.sync_jobs
    (id, tenant_id, provider_slug, connection_id, job_type, status,
     scheduled_at, started_at, finished_at, created_at, updated_at)
  SELECT r.id, tenant_id, provider_slug, c.id, 'incremental', 'succeeded', began, began, ended, began, ended
  FROM ${unnest('r', { id: 'uuid', connectionId: 'uuid', began: 'timestamptz', ended: 'timestamptz' })}
  JOIN :schema.connections c ON c.id = r.connection_id`;

async function insertPastRuns(database: Queryable, runs: PastRun[]): Promise<void> {
  const rows = runs.map(({ connectionId, endedMs }) => {
    const beganMs = endedMs - runMs;
    return { id: uuidAt(beganMs), connectionId, began: new Date(beganMs), ended: new Date(endedMs) };
  });
  await insertPastRunsSql.all(database, { r: rows });
}

/** A UUIDv7 of that time: lists sort by id. */
function uuidAt(ms: number): string {
  const time = Math.floor(ms).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
