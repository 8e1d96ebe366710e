import { readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';
import type pg from 'pg';
import { until } from '../../support/until.ts';
import { createMember, type Member } from '../member.ts';
import type { ChaosPostgres } from '../postgres.ts';
import type { Fault, World } from '../world.ts';

const folder = new URL('../../../src/store/migrations/', import.meta.url);
const migrations = readdirSync(folder).sort();
const newest = migrations.length;

const accountsOf = (schema: string) => Array.from({ length: 12 }, (_, i) => `${schema}-${i + 1}`);
const alreadyStored = 10;

/** A schema as the release before this one left it: half of its connections are in the middle of a walk. */
async function makeOldSchema({ provider }: World, session: pg.Client, schema: string): Promise<void> {
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
    const known = i % 2 === 0 ? provider.itemsOf(account).slice(0, alreadyStored) : [];
    const metadata = {
      sync: { interval_seconds: 3600, ...(known.length > 0 && { cursor: { after: known.length } }) },
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
      [connection?.tenant_id, connection?.id, known],
    );
    await session.query(
      `INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type) VALUES ($1, 'bare-1', $2, 'incremental')`,
      [connection?.tenant_id, connection?.id],
    );
  }
  await session.query('COMMIT');
}

/** Commands and services on that schema. */
function onSchema({ postgres, provider, onProblem }: World, schema: string) {
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
    /** Whatever went wrong, none of them stays. */
    killAll: () => Promise.all(started.map((member) => member.end('SIGKILL'))),
    /** A service that must not start, and says why. */
    refuses: async (why: RegExp) => {
      const { code, output } = await start('start', '--roles', 'executor').ended();
      if (code !== 1 || !why.test(output))
        onProblem(`A service on ${schema} should have refused (${why}); it ended with ${code}: ${output}`);
    },
    /** The database may be away when it is run, which is no fault of its own. */
    migrate: async () => {
      for (let tries = 1; ; tries++) {
        const { code, output } = await start('migrate').ended();
        if (code === 0) return;
        if (tries === 20) throw new Error(`migrate ended with ${code}: ${output}`);
        await delay(500);
      }
    },
  };
}

async function untilComplete({ postgres, provider }: World, schema: string): Promise<void> {
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
    throw new Error(`${schema}: ${stored.length} signals are stored instead of ${expected.length}`);
}

let upgrades = 0;

/**
 * A fleet of this release meets the schema of the one before, and then, while it runs, that of the one after. What is at hand
 * is this release and every schema; how an older program fares on a newer schema is tried with this one.
 */
const upgrade: Fault = {
  kind: 'upgrade',
  lane: 'processes',
  strike: async (world) => {
    const schema = `upgrade_${++upgrades}`;
    const processes = onSchema(world, schema);
    try {
      await meetOldSchema(world, schema, processes);
      return 1;
    } finally {
      await processes.killAll();
      await again(() => world.postgres.sql(`DROP SCHEMA IF EXISTS ${schema} CASCADE`));
    }
  },
};

async function meetOldSchema(
  world: World,
  schema: string,
  { start, refuses, migrate }: ReturnType<typeof onSchema>,
): Promise<void> {
  const { postgres, onProblem } = world;
  await again(() => onSession(postgres, (session) => makeOldSchema(world, session, schema)));
  await refuses(new RegExp(`is at version ${newest - 1}; this release needs version ${newest}`));
  await migrate();
  const worker = start('start', '--roles', 'scheduler,executor');
  await migrate();
  await untilComplete(world, schema);

  await again(() => postgres.sql(ofTomorrow(schema)));
  await untilComplete(world, schema);
  const how = await worker.end('SIGTERM');
  if (how !== '0') onProblem(`${worker.name} was told to end and ended with ${how}: ${worker.output()}`);
}

/** The release after this one adds a column; and everything is fetched again, if that has not begun already. */
const ofTomorrow = (schema: string) => `DO $$ BEGIN
  INSERT INTO ${schema}.schema_migrations (version, name) VALUES (${newest + 1}, 'of tomorrow') ON CONFLICT DO NOTHING;
  IF NOT FOUND THEN RETURN; END IF;
  ALTER TABLE ${schema}.sync_jobs ADD COLUMN of_tomorrow text;
  UPDATE ${schema}.connections SET metadata = metadata #- '{sync,cursor}';
  DELETE FROM ${schema}.signals;
  INSERT INTO ${schema}.sync_jobs (tenant_id, provider_slug, connection_id, job_type)
    SELECT tenant_id, provider_slug, id, 'incremental' FROM ${schema}.connections ON CONFLICT DO NOTHING;
  UPDATE ${schema}.sync_jobs SET scheduled_at = now() WHERE status = 'queued';
END $$`;

/** The database may be away just now, or go away before it has said that all is done: everything here can be done twice. */
async function again(work: () => Promise<unknown>): Promise<void> {
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
