import { randomUUID } from 'node:crypto';
import type { Syncline } from '../syncline.ts';
import { type DemoAccount, demoAccounts, demoProviders, demoTenants } from './demo-accounts.ts';
import { demoCredentials } from './demo-credentials.ts';
import { type DemoDatabase, withDemoDatabase } from './demo-database.ts';

const demo = { actor: 'demo' };

/** Fills an empty database with tenants and connections to watch; returns how many connections it made. */
export async function makeDemo(syncline: Syncline, nowMs: number): Promise<number> {
  return withDemoDatabase(syncline, async (database) => {
    const { rows } = await database.client.query(`SELECT FROM ${database.schema}.tenants LIMIT 1`);
    if (rows.length > 0) return 0;

    for (const { slug, displayName } of demoProviders)
      await syncline.providers.register({ slug, displayName, authType: 'api_key' });
    const made = await Promise.all(demoTenants.map((name) => syncline.tenants.create({ name })));
    const tenantIds = new Map(made.map(({ id, name }) => [name, id]));
    const tenantIdOf = ({ tenant }: DemoAccount) => tenantIds.get(tenant) ?? '';
    const credentialOf = demoCredentials(syncline);
    const credentialIds = await Promise.all(
      demoAccounts.map((account) => credentialOf({ ...account, tenantId: tenantIdOf(account) })),
    );
    const past: PastRun[] = [];
    for (const [i, account] of demoAccounts.entries()) {
      const nextRunMs = i % 6 === 0 ? undefined : nowMs + firstDueSeconds(i) * 1000;
      const id = await connect(syncline, {
        tenantId: tenantIdOf(account),
        credentialId: credentialIds[i],
        account,
        nextRunMs,
      });
      if (nextRunMs !== undefined) past.push(...runsBefore(nextRunMs, id, account.intervalSeconds));
      if (account.pausedBecause !== undefined)
        await syncline.connections.pause(id, { ...demo, reason: account.pausedBecause });
    }
    await insertPast(database, past);
    return demoAccounts.length;
  });
}

/** Whether there is a demo of an earlier version, which kept tokens in `config` and had connectors of its own. */
export function isOutdated(syncline: Syncline): Promise<boolean> {
  return withDemoDatabase(syncline, async ({ client, schema }) => {
    const { rows } = await client.query(
      `SELECT FROM ${schema}.connections WHERE metadata @> '{"demo": true}' AND config ?& '{account,token}' LIMIT 1`,
    );
    return rows.length > 0;
  });
}

/**
 * One after the other over a minute, so that there is something to see every few seconds from then on. A little ahead,
 * because jitter comes on top.
 */
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
      // The mark is how `demo load` finds out that it is a demo that it adds to.
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

const pastRuns = 5;
const tookMs = 240;

/** Runs that have ended before, one interval after the other, so that the next comes due when it should. */
function runsBefore(nextRunMs: number, connectionId: string, intervalSeconds: number): PastRun[] {
  return Array.from({ length: pastRuns }, (_, i) => ({
    connectionId,
    endedMs: nextRunMs - (i + 1) * intervalSeconds * 1000,
  }));
}

async function insertPast({ client, schema }: DemoDatabase, runs: PastRun[]): Promise<void> {
  await client.query(
    `INSERT INTO ${schema}.sync_jobs
       (id, tenant_id, provider_slug, connection_id, job_type, status, scheduled_at, started_at, finished_at, created_at, updated_at)
     SELECT r.id, tenant_id, provider_slug, c.id, 'incremental', 'succeeded', began, began, ended, began, ended
     FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::timestamptz[]) AS r (id, connection_id, began, ended)
     JOIN ${schema}.connections c ON c.id = r.connection_id`,
    [
      runs.map((run) => idOf(run.endedMs - tookMs)),
      runs.map((run) => run.connectionId),
      runs.map((run) => new Date(run.endedMs - tookMs)),
      runs.map((run) => new Date(run.endedMs)),
    ],
  );
}

/** An id of that time, as the engine's are of theirs, so that lists show past runs where they belong. */
function idOf(ms: number): string {
  const time = Math.floor(ms).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`;
}
