import { randomUUID } from 'node:crypto';
import type { Syncline } from '../syncline.ts';
import { type DemoAccount, demoAccounts, demoProviders, demoTenants } from './demo-accounts.ts';
import { demoCredentials } from './demo-credentials.ts';
import { type DemoDatabase, withDemoDatabase } from './demo-database.ts';

const demo = { actor: 'demo' };

export async function makeDemo(syncline: Syncline, nowMs: number): Promise<number> {
  return withDemoDatabase(syncline, async (database) => {
    const { rows } = await database.client.query(`SELECT FROM ${database.schema}.tenants LIMIT 1`);
    if (rows.length > 0) return 0;

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

/** Earlier versions kept tokens in `config`. */
export function isOutdated(syncline: Syncline): Promise<boolean> {
  return withDemoDatabase(syncline, async ({ client, schema }) => {
    const { rows } = await client.query(
      `SELECT FROM ${schema}.connections
       WHERE metadata @> '{"demo": true}' AND config ?& '{account,token}' LIMIT 1`,
    );
    return rows.length > 0;
  });
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

async function insertPastRuns({ client, schema }: DemoDatabase, runs: PastRun[]): Promise<void> {
  await client.query(
    `INSERT INTO ${schema}.sync_jobs
       (id, tenant_id, provider_slug, connection_id, job_type, status,
        scheduled_at, started_at, finished_at, created_at, updated_at)
     SELECT r.id, tenant_id, provider_slug, c.id, 'incremental', 'succeeded',
       began, began, ended, began, ended
     FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::timestamptz[])
       AS r (id, connection_id, began, ended)
     JOIN ${schema}.connections c ON c.id = r.connection_id`,
    [
      runs.map((run) => uuidAt(run.endedMs - runMs)),
      runs.map((run) => run.connectionId),
      runs.map((run) => new Date(run.endedMs - runMs)),
      runs.map((run) => new Date(run.endedMs)),
    ],
  );
}

/** A UUIDv7 of that time: lists sort by id. */
function uuidAt(ms: number): string {
  const time = Math.floor(ms).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
