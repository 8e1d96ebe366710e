import { appendFileSync, cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { loadConfig } from '../../../src/config/load.ts';
import { migrations } from '../../../src/store/migrations.inline.ts';
import { createPreviousRelease } from '../../support/previous-release.ts';
import { until } from '../../support/until.ts';
import type { Fault, FaultContext } from '../fault.ts';
import { createMember, type Member } from '../member.ts';

const root = fileURLToPath(new URL('../../../', import.meta.url));
const newest = Math.max(...migrations.map(({ version }) => version));

const bare = 'bare-1';
const accountsOf = (schema: string) => Array.from({ length: 12 }, (_, i) => `${schema}-${i + 1}`);
const storedItems = 10;

/** Adds a column to a busy table, and makes every connection fetch everything again. */
const nextMigration = `
  ALTER TABLE sync_jobs ADD COLUMN of_the_future text;
  UPDATE connections SET metadata = metadata #- '{sync,cursor}' WHERE provider_slug = '${bare}';
  DELETE FROM signals WHERE provider_slug = '${bare}';
  INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type)
    SELECT tenant_id, provider_slug, id, 'incremental' FROM connections WHERE provider_slug = '${bare}'
    ON CONFLICT DO NOTHING;
  UPDATE sync_jobs SET scheduled_at = now() WHERE status = 'queued' AND provider_slug = '${bare}';`;

/** A copy of the build with one more migration. Below node_modules, so that imports of packages resolve. */
function buildNextRelease(): { cli: string; remove: () => void } {
  const cache = join(root, 'node_modules/.cache/syncline-chaos');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'release-'));
  cpSync(join(root, 'dist'), join(folder, 'dist'), { recursive: true });
  cpSync(join(root, 'package.json'), join(folder, 'package.json'));
  const chunks = join(folder, 'dist/chunks');
  const [chunk] = readdirSync(chunks).filter((name) =>
    /^(?:const|var) migrations = \[/m.test(readFileSync(join(chunks, name), 'utf8')),
  );
  if (!chunk) throw new Error('No chunk of the build contains the migrations.');
  const next = { version: newest + 1, name: 'next', sql: nextMigration };
  appendFileSync(join(chunks, chunk), `\nmigrations.push(${JSON.stringify(next)});\n`);
  return {
    cli: join(folder, 'dist/cli/main.js'),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

/** The previous release's data, and connections of the provider: half of them in the middle of a sync. */
async function createSchema(context: FaultContext, schema: string): Promise<void> {
  const { postgres } = context;
  await postgres.sql(`DROP SCHEMA IF EXISTS ${schema} CASCADE`);
  const { config } = loadConfig({ options: { database: { url: postgres.url, schema } } });
  await createPreviousRelease(config.database, postgres.sql);
  const inserts = accountsOf(schema).map((account, i) => {
    const items = i % 2 === 0 ? context.provider.itemsOf(account).slice(0, storedItems) : [];
    return insertConnection(account, items);
  });
  await postgres.sql(
    `SET LOCAL search_path TO ${schema}, pg_temp;
     INSERT INTO providers (slug) VALUES ('${bare}'); ${inserts.join(' ')}`,
  );
}

const insertConnection = (account: string, items: readonly string[]) => `
  WITH tenant AS (SELECT id FROM tenants WHERE name = 'Northwind'), connection AS (
    INSERT INTO connections (tenant_id, provider_slug, external_id, metadata)
    SELECT id, '${bare}', '${account}', '${metadataAfter(items.length)}' FROM tenant RETURNING id, tenant_id
  ), stored AS (
    INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
    SELECT tenant_id, '${bare}', id, 'item.seen', now(), jsonb_build_object('item', item)
    FROM connection, unnest(ARRAY[${items.map((item) => `'${item}'`).join(', ')}]::text[]) AS item
  )
  INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type)
  SELECT tenant_id, '${bare}', id, 'incremental' FROM connection;`;

const metadataAfter = (stored: number) =>
  JSON.stringify({ sync: { interval_seconds: 3600, ...(stored > 0 && { cursor: { after: stored } }) } });

/** Processes of one release on one schema. */
function onSchema({ postgres, provider, onProblem }: FaultContext, schema: string, cli?: string) {
  const started: Member[] = [];
  const start = (...args: string[]): Member => {
    const member = createMember({
      name: `${args.join(' ')} on ${schema}${cli ? ' (next release)' : ''}`,
      args,
      env: {
        SYNCLINE_DATABASE_URL: postgres.url,
        SYNCLINE_DATABASE_SCHEMA: schema,
        CHAOS_PROVIDER_URL: provider.url,
      },
      ...(cli && { cli }),
      onUnexpectedEnd: onProblem,
    });
    member.start();
    started.push(member);
    return member;
  };
  return {
    startWorker: () => start('start', '--roles', 'scheduler,executor'),
    killAll: () => Promise.all(started.map((member) => member.end('SIGKILL'))),
    expectRefusal: async (reason: RegExp) => {
      const { code, output } = await start('start', '--roles', 'executor').ended();
      if (code !== 1 || !reason.test(output))
        onProblem(
          `A service on ${schema} should refuse to start (${reason}); it exited with ${code}: ${output}`,
        );
    },
    /** Retries, because the database may be down. */
    migrate: async () => {
      for (let tries = 1; ; tries++) {
        const { code, output } = await start('migrate').ended();
        if (code === 0) return;
        if (tries === 20) throw new Error(`migrate exited with ${code}: ${output}`);
        await delay(500);
      }
    },
  };
}
type Release = ReturnType<typeof onSchema>;

async function untilComplete({ postgres, provider }: FaultContext, schema: string): Promise<void> {
  const expected = accountsOf(schema)
    .flatMap((account) => provider.itemsOf(account))
    .sort();
  let stored: string[] = [];
  await until(
    `everything is stored once in ${schema}`,
    async () => {
      const rows = await postgres
        .sql<{ item: string }>(
          `SELECT payload ->> 'item' AS item FROM ${schema}.signals WHERE provider_slug = '${bare}'`,
        )
        .catch(() => []);
      stored = rows.map(({ item }) => item).sort();
      await delay(200);
      return stored.length >= expected.length;
    },
    60_000,
  );
  if (stored.join() !== expected.join())
    throw new Error(`${schema}: ${stored.length} signals are stored, expected ${expected.length}`);
}

let upgrades = 0;

/** Processes of both releases run while the next one migrates, and afterwards. */
const upgrade: Fault = {
  kind: 'upgrade',
  lane: 'processes',
  inject: async (context) => {
    const schema = `upgrade_${++upgrades}`;
    const { cli, remove } = buildNextRelease();
    const releases = [onSchema(context, schema), onSchema(context, schema, cli)] as const;
    try {
      await retry(() => createSchema(context, schema));
      await runUpgrade(context, schema, ...releases);
      return 1;
    } finally {
      await Promise.all(releases.map((release) => release.killAll()));
      remove();
      await retry(() => context.postgres.sql(`DROP SCHEMA IF EXISTS ${schema} CASCADE`));
    }
  },
};

async function runUpgrade(
  context: FaultContext,
  schema: string,
  current: Release,
  next: Release,
): Promise<void> {
  await current.migrate();
  const oldWorker = current.startWorker();
  await untilComplete(context, schema);

  const earlyWorker = next.startWorker();
  await Promise.all([next.migrate(), next.migrate()]);
  const newWorker = next.startWorker();
  await untilComplete(context, schema);
  await current.expectRefusal(
    new RegExp(`is at version ${newest + 1}; this release supports versions up to ${newest}`),
  );
  for (const worker of [oldWorker, earlyWorker, newWorker]) {
    const exit = await worker.end('SIGTERM');
    if (exit !== '0')
      context.onProblem(`${worker.name} exited with ${exit} after SIGTERM: ${worker.output()}`);
  }
}

/** The database may be down, or its response lost: all work here can be repeated. */
async function retry(work: () => Promise<unknown>): Promise<void> {
  let reason = '';
  const done = () =>
    work().then(
      () => true,
      (error: Error) => {
        reason = error.message;
        return delay(200, false);
      },
    );
  await until('the upgrade is prepared', done, 60_000).catch(() => {
    throw new Error(`the upgrade could not be prepared: ${reason}`);
  });
}

export const upgradeFaults = [upgrade];
