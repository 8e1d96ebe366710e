import pg from 'pg';
import type { Syncline } from '../syncline.ts';

const tenants = ['Northwind', 'Umbra Labs', 'Harbour & Co', 'Fieldnotes', 'Kestrel'];
const providers = [
  { slug: 'github', displayName: 'GitHub', authType: 'oauth2' },
  { slug: 'slack', displayName: 'Slack', authType: 'oauth2' },
  { slug: 'google-calendar', displayName: 'Google Calendar', authType: 'oauth2' },
  { slug: 'postgres', displayName: 'Postgres', authType: 'basic' },
];
const intervalsSeconds = [60, 120, 300, 600, 900, 1800];
const connectionCount = 24;

/** Fills an empty database with tenants and connections to watch; returns how many connections it made. */
export async function makeDemo(syncline: Syncline): Promise<number> {
  const client = new pg.Client({ connectionString: syncline.config.database.url });
  client.on('error', () => {});
  await client.connect();
  try {
    const schema = pg.escapeIdentifier(syncline.config.database.schema);
    const { rows } = await client.query(`SELECT FROM ${schema}.tenants LIMIT 1`);
    if (rows.length > 0) return 0;

    for (const provider of providers) await syncline.providers.register(provider);
    const made = await Promise.all(tenants.map((name) => syncline.tenants.create({ name })));
    for (let i = 0; i < connectionCount; i++) await makeConnection(syncline, client, schema, made, i);
    return connectionCount;
  } finally {
    await client.end();
  }
}

async function makeConnection(
  syncline: Syncline,
  client: pg.Client,
  schema: string,
  made: { id: string }[],
  i: number,
): Promise<void> {
  const tenant = made[i % made.length];
  const provider = providers[i % providers.length];
  const intervalSeconds = intervalsSeconds[i % intervalsSeconds.length];
  if (!tenant || !provider || intervalSeconds === undefined) return;
  const { id } = await syncline.connections.create({
    tenantId: tenant.id,
    provider: provider.slug,
    externalId: `demo-${i + 1}`,
    intervalSeconds,
  });
  // Two of three connections have run before, so that runs come due one by one rather than all at the start.
  if (i % 3 > 0) {
    await client.query(
      `INSERT INTO ${schema}.sync_jobs (tenant_id, provider_slug, connection_id, job_type, status, scheduled_at, started_at, finished_at)
       SELECT tenant_id, provider_slug, id, 'incremental', 'succeeded', ended, ended, ended
       FROM ${schema}.connections, LATERAL (SELECT now() - make_interval(secs => $2)) AS e (ended)
       WHERE id = $1`,
      [id, (intervalSeconds * (i + 1)) / (connectionCount + 2)],
    );
    await syncline.connections.setInterval(id, intervalSeconds);
  }
}
