import { randomUUID } from 'node:crypto';
import type pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tenant, useDatabase } from '../support/database.ts';
import { type CheckOptions, check, invariants } from './check.ts';
import { forgetHistory, keepHistory } from './history.ts';

const database = useDatabase();
const { sql } = database;

/** The rows that corruptions change. Both connections last ran at noon. */
interface Scene {
  connection: string;
  /** A job that runs under `process` and `claim`. */
  running: string;
  process: string;
  claim: string;
  /** A full job of `other` that has succeeded. */
  ended: string;
  /** A due job of `other`. */
  queued: string;
  other: string;
}

/** A session with the engine's application_name. */
let engine: pg.Client;
const write = (text: string, values?: unknown[]) => engine.query(text, values);
async function inTransaction(...statements: [text: string, values?: unknown[]][]): Promise<void> {
  await engine.query('BEGIN');
  for (const [text, values] of statements) await engine.query(text, values);
  await engine.query('COMMIT');
}

const later = '2025-01-01T12:20:00Z';
const ending = (set = '') =>
  `UPDATE syncline.sync_jobs SET status = 'succeeded', finished_at = '${later}', updated_at = '${later}', process_id = NULL ${set} WHERE id = $1`;
const starting = (set = '') =>
  `UPDATE syncline.sync_jobs SET status = 'running', started_at = '${later}', claim_id = gen_random_uuid(), process_id = $2 ${set} WHERE id = $1`;
const triggered = (connection: string): [string, unknown[]] => [
  `INSERT INTO syncline.events (id, tenant_id, connection_id, kind, actor, created_at) VALUES (gen_random_uuid(), $1, $2, 'connection.triggered', 'a test', now())`,
  [tenant, connection],
];
const making = (columns = '', values = '') =>
  `INSERT INTO syncline.sync_jobs (tenant_id, provider_slug, connection_id, job_type ${columns}) VALUES ($1, 'github', $2, 'incremental' ${values})`;
const signalling = (columns = '', values = '') =>
  `INSERT INTO syncline.signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload ${columns}) VALUES ('${tenant}', 'github', $1, 'item', now(), '{"item": "a"}' ${values})`;

const losing = `UPDATE syncline.connections SET losses = (
  SELECT jsonb_agg(jsonb_build_object('process', 'p' || n)) FROM generate_series(1, $2::int) n) WHERE id = $1`;

interface Placement {
  tick?: string;
  scheduled?: string;
  nextRun?: string;
  jitter?: number;
}

/** What a scheduler writes for `other`, due at 12:15; correct by default. */
async function place({ other, queued }: Scene, placement: Placement = {}): Promise<void> {
  const { tick = '12:15:00', scheduled = '12:15:30', nextRun = '12:30:00', jitter = 30 } = placement;
  const at = (time: string) => `2025-01-01T${time}.000Z`;
  await sql('DELETE FROM sync_jobs WHERE id = $1', [queued]);
  await inTransaction(
    [making(', scheduled_at, created_at', ', $3, $4'), [tenant, other, at(scheduled), at(tick)]],
    [
      `UPDATE syncline.connections SET metadata = syncline.patch_sync(metadata, $2), updated_at = $3 WHERE id = $1`,
      [other, { next_run_at: at(nextRun), last_jitter_seconds: jitter }, at(tick)],
    ],
  );
}

const everyQuarter = `UPDATE connections SET schedule = '{"cron": "*/15 * * * *", "time_zone": "UTC"}' WHERE id = $1`;

/** A schedule whose occurrence at 12:15 gets the job that an interval would get. */
async function placeBySchedule(scene: Scene, placement?: Placement): Promise<void> {
  await sql(everyQuarter, [scene.other]);
  await place(scene, placement);
}

const withoutGuard = async (remove: string, restore: string, work: () => Promise<unknown>) => {
  await sql(remove);
  try {
    await work();
  } finally {
    await database.empty();
    await sql(restore);
  }
};

const truth = (items: string[]): CheckOptions => ({
  truth: [{ connectionId: '', items, keyOf: (payload) => (payload as { item: string }).item }],
});

interface Corruption {
  commit: (scene: Scene) => Promise<unknown>;
  options?: CheckOptions;
  /** Removes and restores the guard that would prevent the corruption. */
  guard?: [remove: string, restore: string];
}

const quiet: CheckOptions = { quiet: true, now: '2025-01-01T12:10:00Z' };

/** For each invariant, a transaction that violates only this one. */
const corruptions: Record<string, Corruption> = {
  'at most one job of a connection is running': {
    guard: [
      'DROP INDEX idx_sync_jobs_running',
      `CREATE UNIQUE INDEX idx_sync_jobs_running ON sync_jobs (connection_id) WHERE status = 'running'`,
    ],
    commit: async ({ connection, process }) => {
      const id = await database.job(connection, { job_type: 'full' });
      await write(starting(), [id, process]);
    },
  },
  'at most one job of a connection and type is queued or running': {
    guard: [
      'DROP INDEX idx_sync_jobs_connection_type_status',
      `CREATE UNIQUE INDEX idx_sync_jobs_connection_type_status ON sync_jobs (connection_id, job_type) WHERE status IN ('queued','running')`,
    ],
    commit: ({ other }) => inTransaction(triggered(other), [making(), [tenant, other]]),
  },
  "a job's status changes only along the allowed transitions": {
    commit: ({ ended }) =>
      write(`UPDATE syncline.sync_jobs SET status = 'queued', finished_at = NULL WHERE id = $1`, [ended]),
  },
  'an ended job never changes': {
    commit: ({ ended }) => write(`UPDATE syncline.sync_jobs SET signal_count = 7 WHERE id = $1`, [ended]),
  },
  'a running job has a claim, a process and a start time': {
    commit: ({ running }) => write('UPDATE syncline.sync_jobs SET claim_id = NULL WHERE id = $1', [running]),
  },
  'an ended job has an end time and no process': {
    commit: ({ running, process }) =>
      write(ending(`, process_id = '${process}'`).replace('process_id = NULL ,', ''), [running]),
  },
  'a job is deleted only when it has ended, or with its connection': {
    commit: ({ queued }) => write('DELETE FROM syncline.sync_jobs WHERE id = $1', [queued]),
  },
  'every new job has a cause': {
    commit: ({ other }) => write(making().replace('incremental', 'full'), [tenant, other]),
  },
  'a job starts only when it is due': {
    commit: ({ queued, process }) => write(starting(`, scheduled_at = '2030-01-01'`), [queued, process]),
  },
  'a job starts only while its connection is active': {
    commit: async ({ other, queued, process }) => {
      await sql(`UPDATE connections SET status = 'paused' WHERE id = $1`, [other]);
      await write(starting(), [queued, process]);
    },
  },
  'a job starts only under a process that has a lease': {
    commit: ({ queued }) => write(starting(), [queued, randomUUID()]),
  },
  'a claim id is used once': {
    commit: ({ queued, process, claim }) =>
      write(starting().replace('gen_random_uuid()', `'${claim}'`), [queued, process]),
  },
  'a running job keeps its claim and its process': {
    commit: ({ running }) =>
      write('UPDATE syncline.sync_jobs SET claim_id = gen_random_uuid() WHERE id = $1', [running]),
  },
  'a run ends under its own claim': {
    commit: ({ running }) => write(ending(', claim_id = gen_random_uuid()'), [running]),
  },
  'the process that holds the claim stores the result of the run': {
    commit: async ({ queued, running }) => {
      await write(starting(), [queued, await anotherProcess()]);
      await write(ending(), [running]);
    },
  },
  'a job is taken from another process only after its lease expired': {
    commit: async ({ queued, running, process }) => {
      await sql('DELETE FROM processes WHERE id = $1', [process]);
      await sql(registering, [process]);
      await write(starting(), [queued, await anotherProcess()]);
      await write(
        `UPDATE syncline.sync_jobs SET status = 'queued', claim_id = NULL, process_id = NULL WHERE id = $1`,
        [running],
      );
    },
  },
  'a requeued job is as it was before its claim': {
    commit: ({ running }) =>
      write(
        `UPDATE syncline.sync_jobs SET status = 'queued', claim_id = NULL, process_id = NULL, attempts = 1 WHERE id = $1`,
        [running],
      ),
  },
  'no job is blocked without a reason': {
    commit: ({ queued }) => write('UPDATE syncline.sync_jobs SET blocked = true WHERE id = $1', [queued]),
  },
  'a job fails because of process deaths only after five in a row': {
    commit: ({ running }) =>
      write(ending(`, attempts = 1, error = '{"kind": "process_died"}'`).replace('succeeded', 'failed'), [
        running,
      ]),
  },
  'the end of a run resets the death count of its connection': {
    commit: async ({ connection, running }) => {
      await sql(losing, [connection, 1]);
      await write(ending(), [running]);
    },
  },
  'a claim takes at most one job whose processes died twice in a row': {
    commit: async ({ other, queued, process }) => {
      const third = await database.connect();
      const job = await database.job(third);
      for (const id of [other, third]) await sql(losing, [id, 2]);
      await inTransaction([starting(), [queued, process]], [starting(), [job, process]]);
    },
  },
  'a job whose process dies for at least the second time in a row backs off': {
    commit: ({ connection, running }) =>
      inTransaction(
        [
          `UPDATE syncline.sync_jobs SET status = 'queued', process_id = NULL, claim_id = NULL WHERE id = $1`,
          [running],
        ],
        [losing, [connection, 2]],
      ),
  },
  'a death is counted only if the process did not release its lease': {
    commit: async ({ other, process }) => {
      await sql('UPDATE processes SET released = true WHERE id = $1', [process]);
      await write(
        `UPDATE syncline.connections SET losses = jsonb_build_array(jsonb_build_object('process', $2::text)) WHERE id = $1`,
        [other, process],
      );
    },
  },
  'attempts increase by one per failed run': {
    commit: ({ queued }) => write('UPDATE syncline.sync_jobs SET attempts = 5 WHERE id = $1', [queued]),
  },
  'a failed run has an error and a retry time': {
    commit: ({ running }) => write(ending(`, attempts = 1`).replace('succeeded', 'failed'), [running]),
  },
  'a connection becomes needs_auth only after an unauthorized run': {
    commit: ({ other }) =>
      write(`UPDATE syncline.connections SET status = 'needs_auth' WHERE id = $1`, [other]),
  },
  "a connection's cursor changes only with the end of a run or by a rewind": {
    commit: ({ other }) =>
      write(
        `UPDATE syncline.connections SET metadata = syncline.patch_sync(metadata, '{"cursor": 1}') WHERE id = $1`,
        [other],
      ),
  },
  'the next cursor of a run is stored when the run ends': {
    commit: ({ running }) => write(ending(`, next_cursor = '1'`), [running]),
  },
  'a follow-up job starts at the cursor that the previous run stored': {
    commit: ({ connection, running }) =>
      inTransaction([ending(), [running]], [making(', cursor', `, '9'`), [tenant, connection]]),
  },
  'signals are stored in the transaction in which their run succeeds': {
    commit: ({ connection, running }) => write(signalling(', job_id', ', $2'), [connection, running]),
  },
  'signal_count is the number of signals that the job stored': {
    commit: ({ running }) => write(ending(', signal_count = 3'), [running]),
  },
  'a dedupe key is stored once per connection': {
    guard: [
      'DROP INDEX idx_signals_dedupe',
      'CREATE UNIQUE INDEX idx_signals_dedupe ON signals (connection_id, dedupe_key) WHERE dedupe_key IS NOT NULL',
    ],
    commit: async ({ other }) => {
      await write(signalling(', dedupe_key', `, 'a'`), [other]);
      await write(signalling(', dedupe_key', `, 'a'`), [other]);
    },
  },
  'a stored signal never changes': {
    commit: async ({ other }) => {
      await sql(signalling(), [other]);
      await write(`UPDATE syncline.signals SET kind = 'another'`);
    },
  },
  'every signal has a position in the feed': {
    guard: [
      'ALTER TABLE signals DISABLE TRIGGER enter_feed',
      'ALTER TABLE signals ENABLE TRIGGER enter_feed',
    ],
    commit: ({ other }) => write(signalling(), [other]),
  },
  'no signal is added to a batch that already has a position': {
    commit: async ({ other }) => {
      await sql(signalling(), [other]);
      await write(signalling(', batch', ', (SELECT batch FROM syncline.signals)'), [other]);
    },
  },
  'a feed position is assigned once, to one batch': {
    commit: async ({ other }) => {
      await sql(signalling(), [other]);
      await write(
        `UPDATE syncline.feed SET position = position + 1000 WHERE batch = (SELECT batch FROM syncline.signals)`,
      );
    },
  },
  'a job is scheduled at its slot plus its jitter': {
    commit: (scene) => place(scene, { scheduled: '12:15:31' }),
  },
  'the next run is one interval after the slot': { commit: (scene) => place(scene, { nextRun: '12:31:00' }) },
  'jitter is a whole number of seconds within its bounds': {
    commit: (scene) => place(scene, { scheduled: '12:18:01', jitter: 181 }),
  },
  'no slot of a connection is scheduled twice': {
    commit: async (scene) => {
      await place(scene);
      await sql(`DELETE FROM sync_jobs WHERE connection_id = $1`, [scene.other]);
      await place(scene, { tick: '12:29:10' });
    },
  },
  'a connection is scheduled only when it is due': {
    commit: async (scene) => {
      await sql(
        `UPDATE connections SET metadata = patch_sync(metadata, '{"next_run_at": "2025-01-01T12:16:01Z"}') WHERE id = $1`,
        [scene.other],
      );
      await place(scene);
    },
  },
  'a connection is scheduled only while it is active': {
    commit: async (scene) => {
      await sql(`UPDATE connections SET status = 'paused' WHERE id = $1`, [scene.other]);
      await place(scene);
    },
  },
  'next_run_at changes only with a new job, a changed interval or schedule, or a repair': {
    commit: ({ other }) =>
      write(
        `UPDATE syncline.connections SET metadata = syncline.patch_sync(metadata, '{"next_run_at": "2025-01-01T12:45:00Z"}') WHERE id = $1`,
        [other],
      ),
  },
  'a job of a schedule is at its occurrence plus its jitter, at most a tick ahead': {
    commit: (scene) => placeBySchedule(scene, { scheduled: '12:10:30' }),
  },
  'the next run of a schedule is the occurrence after the slot': {
    commit: (scene) => placeBySchedule(scene, { nextRun: '12:45:00' }),
  },
  'jitter of a schedule is a share of the distance or the default interval, and below the distance': {
    commit: (scene) => placeBySchedule(scene, { scheduled: '12:18:01', jitter: 181 }),
  },
  'no occurrence of a schedule is placed twice': {
    commit: async (scene) => {
      await placeBySchedule(scene);
      await sql(`DELETE FROM sync_jobs WHERE connection_id = $1`, [scene.other]);
      await sql(
        `UPDATE connections SET metadata = patch_sync(metadata, '{"next_run_at": null}') WHERE id = $1`,
        [scene.other],
      );
      await place(scene, { tick: '12:29:10' });
    },
  },
  'without a new job, next_run_at of a schedule moves only to its next occurrence': {
    commit: async ({ other }) => {
      await sql(everyQuarter, [other]);
      await write(
        `UPDATE syncline.connections SET metadata = syncline.patch_sync(metadata, '{"next_run_at": "2025-01-01T12:45:00Z"}') WHERE id = $1`,
        [other],
      );
    },
  },
  'jobs and signals belong to the tenant and provider of their connection': {
    commit: ({ other }) => write(signalling().replace("'github'", "'linear'"), [other]),
  },
  'the time of the last run never decreases': {
    commit: ({ other }) =>
      write(
        `UPDATE syncline.connections SET last_incremental_ended_at = '2025-01-01T11:00:00Z', updated_at = now() WHERE id = $1`,
        [other],
      ),
  },
  'the end of an incremental job is recorded in its connection': {
    commit: ({ running }) =>
      inTransaction([`SELECT set_config('syncline.triggers', 'off', true)`], [ending(), [running]]),
  },
  'metadata keys that the engine does not own are preserved': {
    commit: ({ other }) =>
      write(`UPDATE syncline.connections SET metadata = metadata - 'theirs' WHERE id = $1`, [other]),
  },
  'no connection waits for a job that does not exist': {
    commit: async ({ other, queued }) => {
      await sql('DELETE FROM sync_jobs WHERE id = $1', [queued]);
      await write('UPDATE syncline.connections SET waits_for_job = true WHERE id = $1', [other]);
    },
  },
  'an expired lease is not renewed': {
    commit: async () => {
      const id = await anotherProcess();
      await write(
        `UPDATE syncline.processes SET expires_at = expires_at + interval '61 seconds' WHERE id = $1`,
        [id],
      );
    },
  },
  'a process row is deleted only when it has no running job': {
    commit: ({ process }) => write('DELETE FROM syncline.processes WHERE id = $1', [process]),
  },
  'at rest, no job is running': {
    options: quiet,
    commit: async (scene) => {
      await settle(scene);
      const id = await database.job(scene.connection);
      await write(starting(), [id, scene.process]);
    },
  },
  'at rest, no due job is queued': {
    options: quiet,
    commit: async (scene) => {
      await settle(scene);
      await database.job(scene.other);
    },
  },
  'at rest, every active connection has its next run': {
    options: quiet,
    commit: async (scene) => {
      await settle(scene);
      await sql(`UPDATE connections SET metadata = metadata #- '{sync,next_run_at}' WHERE id = $1`, [
        scene.other,
      ]);
    },
  },
  'at rest, every job that must wait for its connection is blocked': {
    options: quiet,
    commit: async (scene) => {
      await settle(scene);
      await sql(`UPDATE connections SET status = 'paused' WHERE id = $1`, [scene.other]);
      await inTransaction([`SELECT set_config('syncline.triggers', 'off', true)`], triggered(scene.other), [
        making(),
        [tenant, scene.other],
      ]);
    },
  },
  'at rest, the tables match their history': {
    options: quiet,
    commit: async (scene) => {
      await settle(scene);
      await inTransaction(
        ['SET LOCAL session_replication_role = replica'],
        [`UPDATE syncline.connections SET external_id = 'behind its back'`],
      );
    },
  },
  'every item of the provider is stored': {
    options: truth(['a', 'b']),
    commit: ({ other }) => write(signalling(), [other]),
  },
  'no item of the provider is stored twice': {
    options: truth(['a']),
    commit: async ({ other }) => {
      await write(signalling(), [other]);
      await write(signalling(), [other]);
    },
  },
  'every stored item exists at the provider': {
    options: truth([]),
    commit: ({ other }) => write(signalling(), [other]),
  },
};

const registering = `INSERT INTO processes (id, host, pid, concurrency, providers, started_at, expires_at)
  VALUES ($1, 'here', 1, 1, '{github}', clock_timestamp(), clock_timestamp() + interval '30 seconds')`;

async function anotherProcess(): Promise<string> {
  const id = randomUUID();
  await sql(registering, [id]);
  return id;
}

async function settle({ running, queued }: Scene): Promise<void> {
  await write(ending(), [running]);
  await sql('DELETE FROM sync_jobs WHERE id = $1', [queued]);
}

async function scene(): Promise<Scene> {
  await database.empty();
  const metadata = { theirs: 1, sync: { next_run_at: '2025-01-01T12:15:00.000Z', cursor: 0 } };
  const connect = async () => {
    const id = await database.connect({ metadata, created_at: '2025-01-01T10:00:00Z' });
    await sql(`UPDATE connections SET last_incremental_ended_at = '2025-01-01T12:00:00Z' WHERE id = $1`, [
      id,
    ]);
    return id;
  };
  const [connection, other, process, claim] = [
    await connect(),
    await connect(),
    await anotherProcess(),
    randomUUID(),
  ];
  const held = {
    status: 'running',
    process_id: process,
    claim_id: claim,
    started_at: '2025-01-01T12:01:00Z',
  };
  const running = await database.job(connection, held);
  const finished = { job_type: 'full', status: 'succeeded', finished_at: '2025-01-01T11:00:00Z' };
  const ended = await database.job(other, finished);
  const queued = await database.job(other);
  await forgetHistory(sql);
  return { connection, running, process, claim, ended, queued, other };
}

describe('checker: every invariant', () => {
  beforeAll(async () => {
    await keepHistory(sql);
    const session = new (await import('pg')).default.Client({
      connectionString: database.url,
      application_name: 'syncline',
    });
    await session.connect();
    engine = session;
  });
  afterAll(() => engine?.end());

  it('checker: every invariant has exactly one corruption', () => {
    expect(Object.keys(corruptions).sort()).toEqual([...invariants].sort());
  });

  it('checker: every invariant holds for the initial scene', async () => {
    const initial = await scene();
    await place(initial);
    await write(ending(), [initial.running]);
    expect(await check(sql, { quiet: true, now: '2025-01-01T12:10:00Z' })).toEqual([]);
  });

  for (const [invariant, { commit, options = {}, guard }] of Object.entries(corruptions))
    it(`checker: a violated invariant is reported alone: ${invariant}`, async () => {
      const initial = await scene();
      const violate = async () => {
        await commit(initial);
        const withTruth = options.truth && {
          truth: options.truth.map((expected) => ({ ...expected, connectionId: initial.other })),
        };
        const violations = await check(sql, { ...options, ...withTruth });
        expect(violations).not.toEqual([]);
        expect([...new Set(violations.map((violation) => violation.invariant))]).toEqual([invariant]);
      };
      await (guard ? withoutGuard(...guard, violate) : violate());
    });
});
