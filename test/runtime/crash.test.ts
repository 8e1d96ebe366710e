import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.ts';
import { type Finished, startCli } from '../support/process.ts';
import { startProxy } from '../support/proxy.ts';
import { sized } from '../support/size.ts';
import { until } from '../support/until.ts';
import {
  addConnections,
  complete,
  countOf,
  type Fault,
  forEachConcurrently,
  injectedFaultOf,
  nothingPending,
  type Outcome,
  outcomes,
  pointAt,
  pointsOf,
  startWorker,
} from '../support/worker.ts';

/** At small size few points: over the three pages, many kinds of statements. */
const stride = sized(1, 25);
const isChosen = (_: string, index: number) => index % stride === 0;

const leaseSeconds = 2;
const sweepSeconds = leaseSeconds / 5;
/** A lease, a sweep and 5 s, plus ten leases of slack for a busy machine: this is not a benchmark. */
const maxStuckMs = (leaseSeconds + sweepSeconds + 5 + 10 * leaseSeconds) * 1000;

describe('kill -9 before and after each statement and connector call of a three-page run', () => {
  const database = useDatabase();
  const { sql } = database;

  interface Case {
    slug: string;
    label: string;
    fault: Fault;
    hasKeys: boolean;
    ended?: Finished;
  }
  const cases: Case[] = [];
  let points: string[];
  let orphanedJobs: { id: string; provider_slug: string }[];
  let recoveryStartedAt: Date;
  let found: Record<string, Outcome>;

  const worker = (slug: string) => ({
    database: database.url,
    providers: [slug],
    // Concurrency 1 keeps the order of statements deterministic.
    executor: { leaseSeconds, concurrency: 1 },
    until: 'drained' as const,
    skipsReaping: true,
  });

  beforeAll(async () => {
    // A long lease, which does not expire on a busy machine.
    const longLease = { leaseSeconds: 60, concurrency: 1 };
    const recorded: string[][] = [];
    for (const slug of ['undisturbed', 'repeated', 'once-more']) {
      await addConnections(sql, [slug]);
      recorded.push(pointsOf(await startWorker({ ...worker(slug), executor: longLease }).finished));
    }
    // The shortest: under load a run may need additional rounds of claims.
    points = recorded.reduce((shortest, other) => (other.length < shortest.length ? other : shortest));
    cases.push(...casesFor(points));
    await addConnections(
      sql,
      cases.map(({ slug }) => slug),
    );
    await forEachConcurrently(4, cases, async (testCase) => {
      const { slug, fault, hasKeys } = testCase;
      testCase.ended = await startWorker({ ...worker(slug), fault, hasKeys }).finished;
    });

    orphanedJobs = await sql(`SELECT id, provider_slug FROM sync_jobs WHERE status = 'running'`);
    const recovery = startWorker({
      database: database.url,
      providers: cases.map(({ slug }) => slug),
      executor: { leaseSeconds },
    });
    await until('the recovery process is registered', async () => {
      const [row] = await sql<{ at: Date }>(
        'SELECT started_at AS at FROM processes WHERE expires_at > clock_timestamp() AND pid = $1',
        [recovery.process.pid],
      );
      if (row) recoveryStartedAt = row.at;
      return row !== undefined;
    });
    await nothingPending(sql);
    await until('dead processes are reaped', async () => (await countOf(sql, 'processes')) === 1);
    recovery.process.kill('SIGTERM');
    expect(await recovery.finished).toMatchObject({ code: 0 });
    found = await outcomes(sql);
  }, 400_000);

  /** Before and after each point without dedupe keys, every sixth also with keys, and during each COMMIT. */
  function casesFor(labels: string[]): Case[] {
    const result: Case[] = [];
    const add = (at: number, when: Fault['when'], hasKeys = false) =>
      result.push({
        slug: `case-${result.length + 1}`,
        label: labels[at - 1] as string,
        fault: { signal: 'SIGKILL', ...pointAt(labels, at - 1), when },
        hasKeys,
      });
    for (let at = 1; at <= labels.length; at += stride) {
      add(at, 'before');
      add(at, 'after');
      if (labels[at - 1] === 'COMMIT') add(at, 'during');
      if (at % 6 === 4) add(at, 'after', true);
    }
    return result;
  }

  it('EXE-5: an undisturbed run stores every signal once and sends the expected statements', () => {
    expect(found['undisturbed']).toEqual(complete);
    const count = (label: RegExp) => points.filter((point) => label.test(point)).length;
    const kinds = {
      leases: count(/^INSERT INTO processes|^heartbeat$/),
      calls: count(/^sync$/),
      claims: count(/^WITH alive/),
      fences: count(/^SELECT id, claim_id/),
      followUps: count(/^INSERT INTO sync_jobs/),
      stored: count(/^WITH stored AS \( INSERT INTO signals/),
    };
    expect(kinds).toEqual({ leases: 2, calls: 3, claims: 3, fences: 3, followUps: 2, stored: 3 });
    expect(count(/^BEGIN$/)).toBe(count(/^COMMIT$/));
  });

  it('EXE-5: processes were killed before and after every point of an undisturbed run', () => {
    const placeOf = ({ label, fault }: Case) => `${fault.when} ${label}`;
    const killed = cases.filter(({ ended }) => ended?.signal === 'SIGKILL');
    for (const { slug, label, ended } of killed)
      expect(injectedFaultOf(ended as Finished)?.label, slug).toBe(label);
    // A run that needed fewer rounds of claims than the recorded one ends before its point.
    for (const missed of cases.filter((other) => !killed.includes(other))) {
      expect(missed.ended, missed.slug).toMatchObject({ code: 0 });
      expect(killed.map(placeOf), missed.slug).toContain(placeOf(missed));
    }
    expect(killed.length).toBeGreaterThan(cases.length * 0.9);
    for (const when of ['before', 'after'] as const) {
      const at = cases.filter(({ fault, hasKeys }) => fault.when === when && !hasKeys);
      expect(at.map(({ label }) => label)).toEqual(points.filter(isChosen));
    }
  });

  it('EXE-5: after a kill at any point, every signal is stored once and the cursor is correct', () => {
    const stored = ({ items, cursor }: Outcome) => ({ items, cursor });
    for (const { slug, label, fault, hasKeys } of cases) {
      const where = `${slug}, killed ${fault.when} ${label}${hasKeys ? ', with keys' : ''}`;
      expect(stored(found[slug] as Outcome), where).toEqual(stored(complete));
    }
  });

  it('EXE-9: after a kill at any point, one job per page succeeds with unchanged attempts', () => {
    for (const { slug, label, fault } of cases) {
      const { jobs, attempts } = found[slug] as Outcome;
      expect({ jobs, attempts }, `${slug}, killed ${fault.when} ${label}`).toEqual({
        jobs: complete.jobs,
        attempts: 0,
      });
    }
  });

  it('EXE-9: jobs of a dead process run again within a lease, a sweep and five seconds', async () => {
    // On each of three pages, the points between the claim's COMMIT and the result's COMMIT.
    expect(orphanedJobs.length).toBeGreaterThan((3 * 2 * 7) / stride);
    const restarted = await sql<{ id: string; at: Date }>(
      'SELECT id, started_at AS at FROM sync_jobs WHERE id = ANY ($1)',
      [orphanedJobs.map(({ id }) => id)],
    );
    const died = new Map(
      cases.map(({ slug, ended }) => [slug, (ended && injectedFaultOf(ended)?.atMs) ?? 0]),
    );
    const slugs = new Map(orphanedJobs.map(({ id, provider_slug }) => [id, provider_slug]));
    for (const { id, at } of restarted) {
      // No process could requeue it before the recovery process started.
      const sinceMs = Math.max(died.get(slugs.get(id) as string) as number, recoveryStartedAt.getTime());
      expect(at.getTime() - sinceMs).toBeLessThan(maxStuckMs);
    }
  });

  it('EXE-9: reaping a dead process deletes its row and releases all its jobs', async () => {
    expect(await countOf(sql, 'processes')).toBe(0);
    expect(await countOf(sql, 'sync_jobs WHERE process_id IS NOT NULL OR blocked')).toBe(0);
  });
});

describe('EXE-9: kill -9 while a process runs jobs', () => {
  const database = useDatabase();
  const { sql } = database;

  it('EXE-9: another process deletes its row and requeues its jobs with unchanged attempts', async () => {
    const slugs = ['one', 'two', 'three', 'four', 'five'];
    await addConnections(sql, slugs);
    await sql(`UPDATE sync_jobs SET attempts = length(provider_slug)`);
    const attempts = () => sql('SELECT provider_slug, attempts FROM sync_jobs ORDER BY provider_slug, id');
    const before = await attempts();
    const options = { database: database.url, executor: { leaseSeconds } };
    const victim = startWorker({ ...options, providers: slugs, hangs: slugs });
    const running = `sync_jobs WHERE status = 'running'`;
    await until('the victim runs all jobs', async () => (await countOf(sql, running)) === slugs.length);
    const [dead] = await sql('SELECT id FROM processes');
    expect(await countOf(sql, `${running} AND process_id = '${dead?.['id']}'`)).toBe(slugs.length);
    // The witness has no connectors: it reaps but runs no jobs.
    const witness = startWorker({ ...options, providers: [] });
    await until('the witness is registered', async () => (await countOf(sql, 'processes')) === 2);

    victim.process.kill('SIGKILL');
    expect((await victim.finished).signal).toBe('SIGKILL');
    const [death] = await sql<{ at: Date }>('SELECT clock_timestamp() AS at');
    await until(
      'its row is deleted',
      async () => (await countOf(sql, `processes WHERE id = '${dead?.['id']}'`)) === 0,
    );
    const jobs = await sql<{ at: Date }>(
      'SELECT status, process_id, claim_id, retry_after, error, updated_at AS at FROM sync_jobs',
    );
    const queued = { status: 'queued', process_id: null, claim_id: null, retry_after: null, error: null };
    expect(jobs).toEqual(slugs.map(() => ({ ...queued, at: expect.any(Date) })));
    expect(await attempts()).toEqual(before);
    for (const { at } of jobs) expect(at.getTime() - (death?.at.getTime() ?? 0)).toBeLessThan(maxStuckMs);

    const other = startWorker({ ...options, providers: slugs });
    await nothingPending(sql);
    for (const { process, finished } of [witness, other]) {
      process.kill('SIGTERM');
      expect((await finished).code).toBe(0);
    }
    const expected = slugs.map((slug) => [slug, { ...complete, attempts: slug.length }]);
    expect(await outcomes(sql)).toEqual(Object.fromEntries(expected));
    expect(await countOf(sql, 'processes')).toBe(0);
  });
});

describe('EXE-10: SIGTERM while a process runs jobs', () => {
  const database = useDatabase();
  const { sql } = database;
  const config = fileURLToPath(new URL('../support/fixtures/shutdown.config.mjs', import.meta.url));

  it('EXE-10: commits runs that end in time, requeues the others with unchanged attempts', async () => {
    await addConnections(sql, ['prompt-1', 'prompt-2', 'prompt-3', 'endless-1', 'endless-2']);
    await sql(`UPDATE sync_jobs SET attempts = 4`);
    const service = startCli(['start', '--roles', 'executor', '--config', config], {
      env: { SYNCLINE_DATABASE_URL: database.url, SYNCLINE_METRICS_PORT: '0' },
    });
    await until('all run', async () => (await countOf(sql, `sync_jobs WHERE status = 'running'`)) === 5);
    service.process.kill('SIGTERM');
    const { code, stdout } = await service.finished;
    expect(code).toBe(0);

    const lines = stdout.split('\n').filter((line) => line.includes('executor_stopped'));
    expect(lines.map((line) => JSON.parse(line))).toEqual([
      expect.objectContaining({
        event: 'executor_stopped',
        finished: 3,
        put_back: 2,
        msg: 'executor stopped: 3 runs finished, 2 jobs requeued',
      }),
    ]);
    const jobs = await sql(
      `SELECT split_part(provider_slug, '-', 1) AS kind, status, attempts, process_id, claim_id IS NULL AS free, error,
         (SELECT count(*)::int FROM signals s WHERE s.connection_id = j.connection_id) AS signals
       FROM sync_jobs j ORDER BY provider_slug`,
    );
    const requeued = { kind: 'endless', status: 'queued', free: true, signals: 0 };
    const stored = { kind: 'prompt', status: 'succeeded', free: false, signals: 1 };
    expect(jobs).toEqual(
      [requeued, requeued, stored, stored, stored].map((job) => ({
        ...job,
        attempts: 4,
        process_id: null,
        error: null,
      })),
    );
    expect(await countOf(sql, 'processes')).toBe(0);
  });

  it('EXE-10: exits with code 0 and logs `abandoned` while the database does not respond', async () => {
    await database.empty();
    await addConnections(sql, ['prompt-1', 'endless-1']);
    const proxy = await startProxy(database.url);
    const service = startCli(['start', '--roles', 'executor', '--config', config], {
      env: { SYNCLINE_DATABASE_URL: proxy.url, SYNCLINE_METRICS_PORT: '0' },
    });
    await until('both run', async () => (await countOf(sql, `sync_jobs WHERE status = 'running'`)) === 2);
    proxy.stall();
    service.process.kill('SIGTERM');
    const { code, stdout } = await service.finished;
    expect(code).toBe(0);
    expect(stdout).toContain('"event":"abandoned"');
    expect(await countOf(sql, `sync_jobs WHERE status = 'running'`)).toBe(2);
  });
});
