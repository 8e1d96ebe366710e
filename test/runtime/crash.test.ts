import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from 'vitest';
import { useDatabase } from '../support/database.ts';
import { type Finished, startCli } from '../support/process.ts';
import { startProxy } from '../support/proxy.ts';
import { until } from '../support/until.ts';
import {
  addConnections,
  complete,
  countOf,
  type Fault,
  nothingPending,
  type Outcome,
  outcomes,
  pointAt,
  pointsOf,
  severalAtATime,
  startWorker,
  strikeOf,
} from '../support/worker.ts';

const leaseSeconds = 2;
/** How often a process with that lease looks for dead ones. */
const sweepSeconds = leaseSeconds / 5;
/**
 * For how long a job may stay with a dead process, or with no process that could have looked, in milliseconds: a lease, a
 * sweep and five seconds. Ten more leases are for a machine that is busy with other things: this is no measurement.
 */
const maxStuckMs = (leaseSeconds + sweepSeconds + 5 + 10 * leaseSeconds) * 1000;

describe('kill -9 before and after everything that a run of three pages does', () => {
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
  let heldByDead: { id: string; provider_slug: string }[];
  let recoveryBeganAt: Date;
  let found: Record<string, Outcome>;

  const worker = (slug: string) => ({
    database: database.url,
    providers: [slug],
    // One at a time, so that the order of statements is always the same.
    executor: { leaseSeconds, concurrency: 1 },
    until: 'drained' as const,
    leavesTheDead: true,
  });

  beforeAll(async () => {
    await addConnections(sql, ['undisturbed']);
    // It must not lose its lease, however busy the machine is.
    const patient = { leaseSeconds: 60, concurrency: 1 };
    points = pointsOf(await startWorker({ ...worker('undisturbed'), executor: patient }).finished);
    cases.push(...casesFor(points));
    await addConnections(
      sql,
      cases.map(({ slug }) => slug),
    );
    await severalAtATime(4, cases, async (one) => {
      const { slug, fault, hasKeys } = one;
      one.ended = await startWorker({ ...worker(slug), fault, hasKeys }).finished;
    });

    heldByDead = await sql(`SELECT id, provider_slug FROM sync_jobs WHERE status = 'running'`);
    const recovery = startWorker({
      database: database.url,
      providers: cases.map(({ slug }) => slug),
      executor: { leaseSeconds },
    });
    await until('somebody lives', async () => {
      const [row] = await sql<{ at: Date }>(
        'SELECT started_at AS at FROM processes WHERE expires_at > clock_timestamp() AND pid = $1',
        [recovery.process.pid],
      );
      if (row) recoveryBeganAt = row.at;
      return row !== undefined;
    });
    await nothingPending(sql);
    await until('the dead are cleared away', async () => (await countOf(sql, 'processes')) === 1);
    recovery.process.kill('SIGTERM');
    expect(await recovery.finished).toMatchObject({ code: 0 });
    found = await outcomes(sql);
  }, 400_000);

  /** Before and after each point, without dedupe keys; some with keys; and each COMMIT while it is on its way. */
  function casesFor(labels: string[]): Case[] {
    const made: Case[] = [];
    const add = (at: number, when: Fault['when'], hasKeys = false) =>
      made.push({
        slug: `case-${made.length + 1}`,
        label: labels[at - 1] as string,
        fault: { signal: 'SIGKILL', ...pointAt(labels, at - 1), when },
        hasKeys,
      });
    for (let at = 1; at <= labels.length; at++) {
      add(at, 'before');
      add(at, 'after');
      if (labels[at - 1] === 'COMMIT') add(at, 'during');
      if (at % 6 === 0) add(at, 'after', true);
    }
    return made;
  }

  it('EXE-5: a run of three pages that nobody disturbs stores everything once, statement by statement as listed', () => {
    expect(found['undisturbed']).toEqual(complete);
    const count = (label: RegExp) => points.filter((point) => label.test(point)).length;
    const kinds = {
      leases: count(/^INSERT INTO processes|^heartbeat$/),
      calls: count(/^sync$/),
      claims: count(/^WITH alive/),
      fences: count(/^SELECT j.id, j.claim_id/),
      followUps: count(/^INSERT INTO sync_jobs/),
      stored: count(/^WITH stored AS \( INSERT INTO signals/),
    };
    expect(kinds).toEqual({ leases: 2, calls: 3, claims: 3, fences: 3, followUps: 2, stored: 3 });
    expect(count(/^BEGIN$/)).toBe(count(/^COMMIT$/));
  });

  it('EXE-5: every process died where it was meant to: before and after each of the points of an undisturbed run', () => {
    const deaths = cases.map(({ slug, ended }) => ({
      slug,
      signal: ended?.signal,
      label: ended && strikeOf(ended)?.label,
    }));
    expect(deaths).toEqual(cases.map(({ slug, label }) => ({ slug, signal: 'SIGKILL', label })));
    for (const when of ['before', 'after'] as const) {
      const at = cases.filter(({ fault, hasKeys }) => fault.when === when && !hasKeys);
      expect(at.map(({ label }) => label)).toEqual(points);
    }
  });

  it('EXE-5: wherever a process is killed, every signal is stored exactly once, and the cursor is right', () => {
    const stored = ({ items, cursor }: Outcome) => ({ items, cursor });
    for (const { slug, label, fault, hasKeys } of cases) {
      const where = `${slug}, killed ${fault.when} ${label}${hasKeys ? ', with keys' : ''}`;
      expect(stored(found[slug] as Outcome), where).toEqual(stored(complete));
    }
  });

  it('EXE-9: wherever a process is killed, one job for each page succeeds in the end, and no attempt is charged', () => {
    for (const { slug, label, fault } of cases) {
      const { jobs, attempts } = found[slug] as Outcome;
      expect({ jobs, attempts }, `${slug}, killed ${fault.when} ${label}`).toEqual({
        jobs: complete.jobs,
        attempts: 0,
      });
    }
  });

  it('EXE-9: no job stays with a dead process for longer than a lease, a sweep and five seconds', async () => {
    // From after a claim's COMMIT until before the COMMIT of what it found: three times.
    expect(heldByDead.length).toBeGreaterThan(3 * 2 * 7);
    const restarted = await sql<{ id: string; at: Date }>(
      'SELECT id, started_at AS at FROM sync_jobs WHERE id = ANY ($1)',
      [heldByDead.map(({ id }) => id)],
    );
    const died = new Map(cases.map(({ slug, ended }) => [slug, (ended && strikeOf(ended)?.atMs) ?? 0]));
    const slugs = new Map(heldByDead.map(({ id, provider_slug }) => [id, provider_slug]));
    for (const { id, at } of restarted) {
      // Nobody was there to put it back before the next process came.
      const sinceMs = Math.max(died.get(slugs.get(id) as string) as number, recoveryBeganAt.getTime());
      expect(at.getTime() - sinceMs).toBeLessThan(maxStuckMs);
    }
  });

  it('EXE-9: nothing is left of the dead', async () => {
    expect(await countOf(sql, 'processes')).toBe(0);
    expect(await countOf(sql, 'sync_jobs WHERE process_id IS NOT NULL OR blocked')).toBe(0);
  });
});

describe('a process that is gone while it runs jobs', () => {
  const database = useDatabase();
  const { sql } = database;

  it('EXE-9: kill -9: its row goes, its jobs are queued again with their attempts as they were, and others run them', async () => {
    const slugs = ['one', 'two', 'three', 'four', 'five'];
    await addConnections(sql, slugs);
    await sql(`UPDATE sync_jobs SET attempts = length(provider_slug)`);
    const attempts = () => sql('SELECT provider_slug, attempts FROM sync_jobs ORDER BY provider_slug, id');
    const before = await attempts();
    const options = { database: database.url, executor: { leaseSeconds } };
    const victim = startWorker({ ...options, providers: slugs, hangs: slugs });
    const running = `sync_jobs WHERE status = 'running'`;
    await until('the victim runs all', async () => (await countOf(sql, running)) === slugs.length);
    const [dead] = await sql('SELECT id FROM processes');
    expect(await countOf(sql, `${running} AND process_id = '${dead?.['id']}'`)).toBe(slugs.length);
    // It can run none of them, but it can see who is dead.
    const witness = startWorker({ ...options, providers: [] });
    await until('the witness lives', async () => (await countOf(sql, 'processes')) === 2);

    victim.process.kill('SIGKILL');
    expect((await victim.finished).signal).toBe('SIGKILL');
    const [death] = await sql<{ at: Date }>('SELECT clock_timestamp() AS at');
    await until(
      'the row goes',
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

describe('a process that is told to end while it runs jobs', () => {
  const database = useDatabase();
  const { sql } = database;
  const config = fileURLToPath(new URL('../support/fixtures/shutdown.config.mjs', import.meta.url));

  it('EXE-10: SIGTERM: what ends in time is stored, the rest goes back at once with no attempt charged, and it says so', async () => {
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
        msg: 'executor stopped: 3 runs finished, 2 jobs put back',
      }),
    ]);
    const jobs = await sql(
      `SELECT split_part(provider_slug, '-', 1) AS kind, status, attempts, process_id, claim_id IS NULL AS free, error,
         (SELECT count(*)::int FROM signals s WHERE s.connection_id = j.connection_id) AS signals
       FROM sync_jobs j ORDER BY provider_slug`,
    );
    const putBack = { kind: 'endless', status: 'queued', free: true, signals: 0 };
    const stored = { kind: 'prompt', status: 'succeeded', free: false, signals: 1 };
    expect(jobs).toEqual(
      [putBack, putBack, stored, stored, stored].map((job) => ({
        ...job,
        attempts: 4,
        process_id: null,
        error: null,
      })),
    );
    expect(await countOf(sql, 'processes')).toBe(0);
  });

  it('EXE-10: SIGTERM while the database does not answer: it ends all the same, and says so', async () => {
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
