import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { until } from '../../support/until.ts';
import type { Fault, FaultContext } from '../fault.ts';
import { createMember, type Member } from '../member.ts';
import type { ChaosPostgres } from '../postgres.ts';

const folder = new URL('../../../src/store/migrations/', import.meta.url);
const migrations = readdirSync(folder).sort();
const newest = migrations.length;

const accountsOf = (schema: string) => Array.from({ length: 12 }, (_, i) => `${schema}-${i + 1}`);
const storedItems = 10;

/** Half of the connections are in the middle of a sync. */
async function makeOldSchema({ provider }: FaultContext, session: pg.Client, schema: string): Promise<void> {
  await session.query(`BEGIN; DROP SCHEMA IF EXISTS ${schema} CASCADE; CREATE SCHEMA ${schema}; SET LOCAL search_path TO ${schema}, pg_temp;
    CREATE TABLE schema_migrations (version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT now())`);
  for (const file of migrations.slice(0, -1)) {
    await session.query(readFileSync(new URL(file, folder), 'utf8'));
    await session.query('INSERT INTO schema_migrations (version, name) VALUES ($1, $2)', [
      Number(file.slice(0, 4)),
      file.replace('.sql', ''),
    ]);
  }
  await session.query(
    `INSERT INTO tenants (name) VALUES ('of old'); INSERT INTO providers (slug) VALUES ('bare-1')`,
  );
  for (const [i, account] of accountsOf(schema).entries()) {
    const stored = i % 2 === 0 ? provider.itemsOf(account).slice(0, storedItems) : [];
    const metadata = {
      sync: { interval_seconds: 3600, ...(stored.length > 0 && { cursor: { after: stored.length } }) },
    };
    const inserted = await session.query<{ id: string; tenant_id: string }>(
      `INSERT INTO connections (tenant_id, provider_slug, external_id, metadata)
       SELECT id, 'bare-1', $1, $2 FROM tenants RETURNING id, tenant_id`,
      [account, JSON.stringify(metadata)],
    );
    const [connection] = inserted.rows;
    await session.query(
      `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
       SELECT $1, 'bare-1', $2, 'item.seen', now(), jsonb_build_object('item', item) FROM unnest($3::text[]) AS item`,
      [connection?.tenant_id, connection?.id, stored],
    );
    await session.query(
      `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type) VALUES ($1, 'bare-1', $2, 'incremental')`,
      [connection?.tenant_id, connection?.id],
    );
  }
  await session.query('COMMIT');
}

function onSchema({ postgres, provider, onProblem }: FaultContext, schema: string) {
  const started: Member[] = [];
  const start = (...args: string[]): Member => {
    const member = createMember({
      name: `${args.join(' ')} on ${schema}`,
      args,
      env: {
        SYNCLINE_DATABASE_URL: postgres.url,
        SYNCLINE_DATABASE_SCHEMA: schema,
        CHAOS_PROVIDER_URL: provider.url,
      },
      onUnexpectedEnd: onProblem,
    });
    member.start();
    started.push(member);
    return member;
  };
  return {
    start,
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

async function untilComplete({ postgres, provider }: FaultContext, schema: string): Promise<void> {
  const expected = accountsOf(schema)
    .flatMap((account) => provider.itemsOf(account))
    .sort();
  let stored: string[] = [];
  await until(
    `everything is stored once in ${schema}`,
    async () => {
      const rows = await postgres
        .sql<{ item: string }>(`SELECT payload ->> 'item' AS item FROM ${schema}.signals`)
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

/** Runs this release on the previous schema, and then, without a restart, on a newer one. */
const upgrade: Fault = {
  kind: 'upgrade',
  lane: 'processes',
  inject: async (context) => {
    const schema = `upgrade_${++upgrades}`;
    const processes = onSchema(context, schema);
    try {
      await runUpgrade(context, schema, processes);
      return 1;
    } finally {
      await processes.killAll();
      await retry(() => context.postgres.sql(`DROP SCHEMA IF EXISTS ${schema} CASCADE`));
    }
  },
};

async function runUpgrade(
  context: FaultContext,
  schema: string,
  { start, expectRefusal, migrate }: ReturnType<typeof onSchema>,
): Promise<void> {
  const { postgres, onProblem } = context;
  await retry(() => onSession(postgres, (session) => makeOldSchema(context, session, schema)));
  await expectRefusal(new RegExp(`is at version ${newest - 1}; this release needs version ${newest}`));
  await migrate();
  const worker = start('start', '--roles', 'scheduler,executor');
  await migrate();
  await untilComplete(context, schema);

  await retry(() => postgres.sql(nextRelease(schema)));
  await untilComplete(context, schema);
  const exit = await worker.end('SIGTERM');
  if (exit !== '0') onProblem(`${worker.name} exited with ${exit} after SIGTERM: ${worker.output()}`);
}

/** Adds a column and fetches everything again. Idempotent. */
const nextRelease = (schema: string) => `DO $$ BEGIN
  INSERT INTO ${schema}.schema_migrations (version, name) VALUES (${newest + 1}, 'of tomorrow') ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN; END IF;
  ALTER TABLE ${schema}.sync_jobs ADD COLUMN of_tomorrow text;
  UPDATE ${schema}.connections SET metadata = metadata #- '{sync,cursor}';
  DELETE FROM ${schema}.signals;
  INSERT INTO ${schema}.sync_jobs (tenant_id, provider_slug, connection_id, job_type)
    SELECT tenant_id, provider_slug, id, 'incremental' FROM ${schema}.connections ON CONFLICT DO NOTHING;
  UPDATE ${schema}.sync_jobs SET scheduled_at = now() WHERE status = 'queued';
END $$`;

/** The database may be down, or its response lost: all work here is idempotent. */
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

async function onSession(
  postgres: ChaosPostgres,
  work: (session: pg.Client) => Promise<void>,
): Promise<void> {
  const session = await postgres.session();
  try {
    await work(session);
  } finally {
    await session.end().catch(() => {});
  }
}

export const upgradeFaults = [upgrade];
