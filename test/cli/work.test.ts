import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { expectFailure, useCli } from '../support/cli.ts';
import { tenant, useDatabase } from '../support/database.ts';

const database = useDatabase();
const { sql } = database;
beforeEach(() => database.empty());

/** The external ID of a connection selects what its run does. */
const cli = useCli(
  database,
  `
const fails = (message, kind) => {
  throw Object.assign(new Error(message), { [Symbol.for('syncline.connector-error')]: kind });
};
const signal = (payload) => ({ kind: 'item', occurredAt: new Date(), payload });
const runs = {
  finds: () => ({ signals: [signal(1), signal(2)] }),
  pages: ({ cursor = 0 }) => ({ signals: [signal(cursor)], nextCursor: cursor + 1, hasMore: cursor < 2 }),
  stumbles: () => fails('try later', 'transient'),
  fails: () => fails('no such account', 'permanent'),
  hangs: ({ log }) => {
    log.error('hanging');
    return new Promise(() => setInterval(() => {}, 1000));
  },
};
const sync = async (context) => runs[context.connection.externalId](context);
export default { connectors: [{ provider: 'github', name: 'GitHub', sync }] };
`,
);
const withoutConnectors = useCli(database);

async function due(...externalIds: string[]): Promise<void> {
  const { connections } = database.engine();
  for (const externalId of externalIds) {
    const { id } = await connections.create({ tenantId: tenant, provider: 'github', externalId });
    await connections.trigger(id);
  }
}

const jobs = () => sql('SELECT status, attempts FROM sync_jobs ORDER BY id');

describe('syncline work --drain', () => {
  it('EXE-6: runs due jobs and their follow-ups and prints the totals as one object', async () => {
    await due('finds', 'pages', 'stumbles', 'fails');
    const { code, stdout, stderr } = await cli.run('work', '--drain', '--json');
    expect(code).toBe(0);
    expect(stdout.trim().split('\n')).toHaveLength(1);
    expect(JSON.parse(stdout)).toEqual({
      claimed: 6,
      succeeded: 4,
      requeued: 1,
      failed: 1,
      lost: 0,
      signals: 5,
      next_due_at: expect.stringMatching(/Z$/),
      duration_ms: expect.any(Number),
    });
    // Results go to stdout, failures to stderr.
    expect(stderr).toContain('try later');
    expect(stderr).toContain('no such account');
  });

  it('work: prints a summary, also if no job was due', async () => {
    await due('finds', 'stumbles');
    expect((await cli.run('work', '--drain')).stdout).toMatch(
      /^Ran 2 jobs in \d+ ms: 1 succeeded, 1 will be retried\. Stored 2 new signals\.\nThe next job is due at \S+Z \(in \d+ s\)\.\n$/,
    );
    await database.empty();
    expect(await cli.run('work', '--drain')).toMatchObject({
      code: 0,
      stdout: "Ran no jobs: no job of this process's connectors is due.\n",
      stderr: '',
    });
  });

  it('SCH-2: prints when a job that a tick placed in the future is due', async () => {
    const { id } = await database.engine().connections.create({ tenantId: tenant, provider: 'github' });
    await database.job(id, { scheduled_at: '2999-01-01T00:00:42Z' });
    const { stdout } = await cli.run('work', '--drain');
    expect(stdout).toMatch(/Ran no jobs.*\nThe next job is due at 2999-01-01T00:00:42\.000Z \(in .+\)\.\n$/);
    const json = JSON.parse((await cli.run('work', '--drain', '--json')).stdout);
    expect(json).toMatchObject({ claimed: 0, next_due_at: '2999-01-01T00:00:42.000Z' });
  });

  it('EXE-9: requeues and runs jobs of dead processes', async () => {
    await due('finds');
    const dead = randomUUID();
    await sql(
      `INSERT INTO processes (id, host, pid, concurrency, providers, started_at, expires_at)
       VALUES ($1, 'host', 7, 10, '{github}', '2025-01-01', '2025-01-01')`,
      [dead],
    );
    await sql(
      `UPDATE sync_jobs SET status = 'running', started_at = now(), process_id = $1, claim_id = gen_random_uuid()`,
      [dead],
    );
    expect(JSON.parse((await cli.run('work', '--drain', '--json')).stdout)).toMatchObject({ succeeded: 1 });
    expect(await sql('SELECT FROM processes')).toEqual([]);
  });

  it('janitor: deletes what is past its retention', async () => {
    const connection = await database.connect();
    await database.ended(connection, '2025-01-01T00:00:00Z');
    expect(await cli.run('work', '--drain')).toMatchObject({ code: 0 });
    expect(await jobs()).toEqual([]);
  });

  it('EXE-2: two parallel drains share the jobs, and none runs twice', async () => {
    await due(...Array<string>(30).fill('finds'));
    const ended = await Promise.all([1, 2].map(() => cli.runProcess('work', '--drain', '--json')));
    expect(ended).toMatchObject(Array(2).fill({ code: 0, stderr: '' }));
    const drains = ended.map(({ stdout }) => JSON.parse(stdout) as Record<string, unknown>);
    const sum = (key: string) => drains.reduce((total, drain) => total + Number(drain[key]), 0);
    expect({ claimed: sum('claimed'), succeeded: sum('succeeded') }).toEqual({ claimed: 30, succeeded: 30 });
    expect(await sql('SELECT FROM signals')).toHaveLength(60);
  });

  it.each(['SIGTERM', 'SIGINT'] as const)(
    'EXE-10: %s requeues running jobs and still prints the totals',
    async (signal) => {
      await due('hangs');
      const drain = cli.start(['work', '--drain', '--json'], {
        SYNCLINE_EXECUTOR_SHUTDOWN_GRACE_SECONDS: '0',
      });
      await drain.output(/hanging/);
      drain.process.kill(signal);
      const { code, stdout } = await drain.finished;
      expect(code).toBe(0);
      expect(JSON.parse(stdout)).toMatchObject({ claimed: 1, lost: 1, failed: 0 });
      expect(await jobs()).toEqual([{ status: 'queued', attempts: 0 }]);
    },
  );

  it('work: warns if no connectors are configured and runs nothing', async () => {
    await due('finds');
    const { code, stdout, stderr } = await withoutConnectors.run('work', '--drain', '--json');
    expect({ code, ...JSON.parse(stdout) }).toMatchObject({ code: 0, claimed: 0, signals: 0 });
    expect(stderr).toContain('No connectors are configured: add them to syncline.config.ts.\n');
    expect(stderr).not.toContain('error:');
    expect(await jobs()).toEqual([{ status: 'queued', attempts: 0 }]);
  });
});

describe('syncline work', () => {
  it('EXE-10: runs only the executor, until SIGTERM', async () => {
    await due('finds');
    const worker = cli.start(['work', '--json'], { SYNCLINE_LOG_LEVEL: 'debug' });
    await worker.output(/synced github .*: 2 new signals/);
    worker.process.kill('SIGTERM');
    const { code, stdout } = await worker.finished;
    expect(code).toBe(0);
    expect(stdout).toContain('started: executor"');
    expect(stdout).toContain('"event":"stopped"');
  });
});

describe('work --drain as a restricted role', () => {
  const role = `drain_${randomUUID().replaceAll('-', '')}`;
  const url = () => Object.assign(new URL(database.url), { username: role, password: 'drain' }).href;
  beforeAll(() =>
    sql(`CREATE ROLE ${role} LOGIN PASSWORD 'drain'; GRANT USAGE ON SCHEMA syncline TO ${role};
      GRANT SELECT ON ALL TABLES IN SCHEMA syncline TO ${role};
      GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA syncline TO ${role}`),
  );
  afterAll(() => sql(`DROP OWNED BY ${role}; DROP ROLE ${role}`));

  const drain = () => cli.runWith({ SYNCLINE_DATABASE_URL: url() }, 'work', '--drain');

  it('EXE-10: fails with the missing grant if the heartbeat is denied', async () => {
    await due('finds');
    const ended = await drain();
    expectFailure(ended, /permission denied for table processes\..* Run: GRANT .* TO drain_/);
    expect(await sql('SELECT status FROM sync_jobs')).toEqual([{ status: 'queued' }]);
  });

  it('EXE-10: fails with the missing grant if the claim is denied', async () => {
    await sql(`GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA syncline TO ${role};
      REVOKE UPDATE ON sync_jobs FROM ${role}`);
    await due('finds');
    expectFailure(
      await drain(),
      new RegExp(
        `permission denied for table sync_jobs\\. Run: GRANT UPDATE ON syncline\\.sync_jobs TO ${role};`,
      ),
    );
    await sql(`GRANT UPDATE ON sync_jobs TO ${role}`);
    expect(await drain()).toMatchObject({ code: 0, stdout: expect.stringContaining('1 succeeded') });
  });
});
