import { randomUUID } from 'node:crypto';
import { githubSignature } from '../../src/contract/signatures.ts';
import {
  type Connector,
  createSyncline,
  PermanentError,
  type SyncContext,
  type Syncline,
  TransientError,
  UnauthorizedError,
} from '../../src/index.ts';
import { connector } from '../support/connector.ts';
import { silent, type TestDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';
import { credentials, hooked } from '../webhooks/webhook-connector.ts';

/** A tenant's ids and names by noun (`connections`, `jobs`, …); each entry of `things` is related data. */
export interface Belongings {
  tenantId: string;
  /** Prefix of every text of this tenant. */
  marker: string;
  /** API key used only by the test. */
  key: string;
  /** Secret of its webhook signatures. */
  webhookSecret: string;
  things: readonly Readonly<Record<string, string>>[];
}

export interface World {
  engine: Syncline;
  operatorKey: string;
  tenants: readonly Belongings[];
  close(): Promise<void>;
}

/** Connections per provider; the name describes how the provider behaves. */
const providers = { steady: 8, broken: 3, shaky: 3, locked: 2, stuck: 3, unserved: 4 };

/** OAuth settings of a provider that is never called. */
const oauth2 = {
  authorizationUrl: 'http://127.0.0.1:9/authorize',
  tokenUrl: 'http://127.0.0.1:9/token',
  optional: true,
  clientId: 'the-app',
  clientSecret: 'the-secret-of-the-app',
};

/** Longer than the test, so that the scheduler ticks once. */
const scheduler = { tickIntervalSeconds: 300 };

/** Creates two tenants with the same data: jobs in every status with signals, logs and errors. */
export async function makeWorld(database: TestDatabase): Promise<World> {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  const running = createSyncline({
    database: database.url,
    logger: silent,
    connectors: [connector(() => released.then(() => ({ signals: [] })), 'stuck')],
    // Longer than any test.
    executor: { maxRunSeconds: 3600 },
    scheduler,
  });
  const engine = createSyncline({
    database: database.url,
    logger: silent,
    scheduler,
    credentials,
    // Runs no jobs, but receives webhooks.
    connectors: Object.keys(providers).map((provider) => ({
      ...hooked({ verify: githubSignature() }, { provider }),
      oauth2,
    })),
  });
  const close = async () => {
    release();
    await Promise.all([running.stop(), engine.stop()]);
  };
  try {
    for (const slug of Object.keys(providers)) await engine.providers.register({ slug });
    const created = [await createTenant(database, engine), await createTenant(database, engine)];
    await work(database, 2);
    await running.start({ roles: ['executor', 'scheduler'] });
    await until('the stuck jobs are running', async () => {
      const [row] = await database.sql<{ n: number }>(
        `SELECT count(*)::int AS n FROM sync_jobs WHERE status = 'running'`,
      );
      return row?.n === created.length * providers.stuck;
    });
    await until('a scheduler has ticked', async () => (await engine.status()).lastTickAt !== undefined);
    const tenants = await Promise.all(created.map((tenant) => readBelongings(database, tenant)));
    const { key: operatorKey } = await engine.keys.create({ name: 'operator' });
    return { engine, operatorKey, tenants, close };
  } catch (error) {
    await close();
    throw error;
  }
}

type CreatedTenant = Omit<Belongings, 'things'> & { keys: string[]; credentials: Map<string, string[]> };

async function createTenant(database: TestDatabase, engine: Syncline): Promise<CreatedTenant> {
  const marker = `mark${randomUUID().slice(0, 8)}`;
  const { id: tenantId } = await engine.tenants.create({ name: `${marker}-tenant` });
  const view = engine.as({ tenantId, actor: `${marker}-actor` });
  const { key } = await view.keys.create({ name: `${marker}-key` });
  const webhookSecret = `${marker}-webhook-secret`;
  const keys: string[] = [];
  const credentials = new Map<string, string[]>();
  for (const [provider, count] of Object.entries(providers))
    for (let i = 0; i < count; i++) {
      const { id } = await view.connections.create(
        {
          tenantId,
          provider,
          externalId: `${marker}-external-${provider}-${i}`,
          config: { marker, text: `${marker}-config` },
          metadata: { note: `${marker}-metadata` },
        },
        { reason: `${marker}-made` },
      );
      await view.connections.trigger(id, { reason: `${marker}-triggered` });
      await view.webhooks.create(id, { secret: webhookSecret });
      keys.push((await view.keys.create({ name: `${marker}-spare-${keys.length}` })).id);
      await view.consumers.move(`${marker}-consumer-${keys.length - 1}`, 'beginning');
      const made = await view.credentials.create({
        tenantId,
        provider,
        name: `${marker}-credential`,
        secret: { type: 'api_key', key: `${marker}-secret` },
      });
      credentials.set(provider, [...(credentials.get(provider) ?? []), made.id]);
      await database.sql(
        `INSERT INTO budgets (key, tenant_id, provider_slug, credential_id, name, most, stated, period_seconds, opened_at, resets_at, opens_at)
         VALUES ($1::text || '/core/' || $3::text, $2, $1::text, $3::text::uuid, $4, 100, 100, 60, now(), now() + interval '1 hour', now() + interval '1 hour')`,
        [provider, tenantId, made.id, `${marker}-budget`],
      );
      await database.sql(
        `INSERT INTO deletions (connection_id, tenant_id, provider_slug, actor, reason, error, estimated_signals, requested_at, updated_at, finished_at)
         VALUES ($1, $2, $3, $4, $5, $6, 1, now(), now(), now())`,
        [id, tenantId, provider, `${marker}-actor`, `${marker}-deleted`, `${marker}-error`],
      );
    }
  return { tenantId, marker, key, webhookSecret, keys, credentials };
}

/** Runs all jobs that can finish, `times` times; from the second time on they have a cursor. */
export async function work(database: TestDatabase, times: number): Promise<void> {
  const worker = createSyncline({ database: database.url, logger: silent, connectors: createConnectors() });
  try {
    for (let round = 1; ; round++) {
      await worker.drain();
      if (round === times) return;
      const rows = await database.sql<{ id: string }>(
        `SELECT id FROM connections WHERE status = 'active' AND provider_slug IN ('steady', 'broken')`,
      );
      for (const { id } of rows) await worker.connections.trigger(id);
    }
  } finally {
    await worker.stop();
  }
}

function createConnectors(): Connector[] {
  const text = ({ connection }: SyncContext, suffix: string) =>
    `${(connection.config as { marker: string }).marker}-${suffix}`;
  const failing = (provider: string, fail: (message: string) => Error) =>
    connector((context) => {
      context.log.info({ field: text(context, 'field') }, text(context, 'logged'));
      throw fail(text(context, 'error'));
    }, provider);
  return [
    connector((context) => {
      context.log.warn({ field: text(context, 'field') }, text(context, 'logged'));
      const signals = ['one', 'two'].map((name) => ({
        kind: text(context, 'kind'),
        occurredAt: '2025-01-01T10:00:00Z',
        payload: { text: text(context, 'payload') },
        dedupeKey: text(context, `${name}-${context.job.id}`),
      }));
      return { signals, nextCursor: { at: text(context, 'cursor') } };
    }, 'steady'),
    failing('broken', (message) => new PermanentError(message)),
    failing('shaky', (message) => new TransientError(message)),
    failing('locked', (message) => new UnauthorizedError(message)),
  ];
}

/** One entry per job with the data of its connection. */
async function readBelongings(database: TestDatabase, created: CreatedTenant): Promise<Belongings> {
  const { tenantId, marker, key, webhookSecret, keys, credentials } = created;
  const rows = await database.sql<{
    job: string;
    connection: string;
    provider: string;
    external: string;
    signal: string | null;
  }>(
    `SELECT j.id AS job, c.id AS connection, c.provider_slug AS provider, c.external_id AS external,
       (SELECT s.id FROM signals s WHERE s.connection_id = c.id ORDER BY s.id LIMIT 1) AS signal
     FROM sync_jobs j JOIN connections c ON c.id = j.connection_id
     WHERE c.tenant_id = $1
     ORDER BY row_number() OVER (PARTITION BY c.provider_slug, j.status ORDER BY j.id), j.id`,
    [tenantId],
  );
  const anySignal = rows.find((row) => row.signal !== null)?.signal ?? '';
  const things = rows.map((row, i) => ({
    tenants: tenantId,
    connections: row.connection,
    jobs: row.job,
    signals: row.signal ?? anySignal,
    providers: row.provider,
    searches: row.external,
    keys: keys[i % keys.length] ?? '',
    credentials: itemAt(credentials.get(row.provider) ?? [], i),
    consumers: `${marker}-consumer-${i % keys.length}`,
    kinds: `${marker}-kind`,
  }));
  return { tenantId, marker, key, webhookSecret, things };
}

const itemAt = (all: string[], i: number) => all[i % all.length] ?? '';
