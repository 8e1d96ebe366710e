import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from 'vitest';
import { migrations as knownMigrations } from '../../src/store/migrations.inline.ts';
import { latestVersion } from '../../src/store/schema-version.ts';
import { expectFailure } from '../support/cli.ts';
import { useDatabase } from '../support/database.ts';
import { runCli, runCliProcess, startCli } from '../support/process.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
const { sql, connect, ended } = database;
beforeEach(() => database.empty());
const emptyFolder = mkdtempSync(join(tmpdir(), 'syncline-cli-'));
afterAll(() => rmSync(emptyFolder, { recursive: true }));

const onDatabase = (env: NodeJS.ProcessEnv = {}) => ({
  cwd: emptyFolder,
  env: { SYNCLINE_DATABASE_URL: database.url, ...env },
});
const run = (...args: string[]) => runCli(args, onDatabase());
const runProcess = (...args: string[]) => runCliProcess(args, onDatabase());

describe('syncline migrate', () => {
  it('migrate: applies all migrations; a second run reports the schema as up to date', async () => {
    const env = { SYNCLINE_DATABASE_SCHEMA: 'by_cli' };
    const first = await runCliProcess(['migrate', '--json'], onDatabase(env));
    const applied = knownMigrations.map(({ name }) => name);
    expect(JSON.parse(first.stdout)).toEqual({
      schema: 'by_cli',
      applied,
      steps: applied.map((name) => ({ name, duration_ms: expect.any(Number) })),
      version: latestVersion(knownMigrations),
    });
    const second = await runCli(['migrate'], onDatabase(env));
    expect(second).toMatchObject({
      code: 0,
      stdout: `Schema "by_cli" is up to date (version ${latestVersion(knownMigrations)}).\n`,
    });
  });

  it('migrate: prints each migration with its duration', async () => {
    const { stdout } = await runCli(['migrate'], onDatabase({ SYNCLINE_DATABASE_SCHEMA: 'by_steps' }));
    const lines = stdout.trim().split('\n');
    expect(lines.at(-1)).toMatch(/^Schema "by_steps" is now at version \d+\.$/);
    expect(lines.slice(0, -1)).not.toEqual([]);
    for (const line of lines.slice(0, -1)) expect(line).toMatch(/^Applied \d{4}_\w+ in \d+ ms\.$/);
  });
});

describe('syncline tick', () => {
  it('SCH-1: --json prints one object with all counters', async () => {
    await connect({ metadata: { sync: { interval_seconds: 'often' } } });
    const { code, stdout } = await run('tick', '--json');
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toEqual({
      scheduled: 1,
      skipped_pending: 0,
      invalid_metadata: 1,
      backlog: 1,
      duration_ms: expect.any(Number),
    });
  });

  it('SCH-5: --at sets the time of the tick', async () => {
    const id = await connect({ metadata: { sync: { next_run_at: '2025-01-01T10:15:00Z' } } });
    await ended(id, '2025-01-01T10:00:00Z');
    await run('tick', '--at', '2025-01-01T10:50:00Z');
    const [row] = await sql<{ next: string }>(
      `SELECT metadata #>> '{sync,next_run_at}' AS next FROM connections`,
    );
    expect(row?.next).toBe('2025-01-01T11:00:00.000Z');
  });

  it('tick: prints a summary without --json', async () => {
    await connect();
    expect((await runProcess('tick')).stdout).toMatch(
      /^Queued 1 job in \d+ ms\. 1 connection was overdue at the start\.\n$/,
    );
  });

  it.each(['tomorrow', '2025-02-30T00:00:00Z', '12:00'])('tick: rejects --at %s', async (time) => {
    expectFailure(await run('tick', '--at', time), /--at must be an ISO-8601 time.*, got ".*"/);
  });

  it('SCH-3: writes validation warnings to stderr and only the result to stdout', async () => {
    await connect({ metadata: { sync: { interval_seconds: 99_999_999 } } });
    const { stdout, stderr } = await run('tick', '--json');
    expect(stdout.trim().split('\n')).toHaveLength(1);
    expect(stderr.trim().split('\n')).toHaveLength(1);
    expect(JSON.parse(stderr).msg).toContain(
      'interval_seconds is 99999999, expected a whole number of seconds from 60 to 86400',
    );
  });
});

describe('syncline schedule preview', () => {
  it('schedule preview: prints the next runs as text', async () => {
    const id = await connect({ metadata: { sync: { interval_seconds: 300 } } });
    const { code, stdout } = await runProcess('schedule', 'preview', id, '--runs', '3');
    expect(code).toBe(0);
    expect(stdout).toContain(`github ${id}: every 300 s`);
    expect(stdout.split('\n').filter((line) => /^\d/.test(line))).toHaveLength(3);
  });

  it('schedule preview: prints the next runs as JSON', async () => {
    const id = await connect();
    const { stdout } = await run('schedule', 'preview', id, '--json');
    expect(JSON.parse(stdout)).toMatchObject({
      connection_id: id,
      status: 'active',
      base_interval_seconds: 900,
      next_run_at: null,
      pending: null,
    });
    expect(JSON.parse(stdout).runs).toHaveLength(5);
  });

  it('schedule preview: rejects an invalid or unknown connection ID', async () => {
    expectFailure(await run('schedule', 'preview', 'mine'), /connection must be a UUID, got "mine"/);
    expectFailure(
      await run('schedule', 'preview', '00000000-0000-4000-8000-00000000dead'),
      /There is no connection/,
    );
  });
});

describe('syncline config', () => {
  it('config: prints each value with its source and masks secrets', async () => {
    writeFileSync(join(emptyFolder, 'own.config.ts'), 'export default { scheduler: { batchSize: 50 } }');
    const env = {
      DATABASE_URL: 'postgres://me:s3cret@localhost/db',
      SYNCLINE_SCHEDULER_JITTER_PCT_MAX: '0.5',
    };
    const { stdout } = await runCli(['config', '--config', 'own.config.ts'], { cwd: emptyFolder, env });
    expect(stdout).not.toContain('s3cret');
    const line = (setting: string) =>
      stdout
        .split('\n')
        .find((text) => text.startsWith(setting))
        ?.replaceAll(/ {2,}/g, ' | ');
    expect(line('database.url')).toBe('database.url | postgres://me:***@localhost/db | DATABASE_URL');
    expect(line('scheduler.jitterPctMax')).toBe(
      'scheduler.jitterPctMax | 0.5 | SYNCLINE_SCHEDULER_JITTER_PCT_MAX',
    );
    expect(line('scheduler.batchSize')).toBe(
      'scheduler.batchSize | 50 | scheduler.batchSize in own.config.ts',
    );
    expect(line('scheduler.tickIntervalSeconds')).toBe('scheduler.tickIntervalSeconds | 60 | default');
  });

  it('config: prints JSON with secrets masked', async () => {
    const { stdout } = await runCliProcess(['config', '--json'], {
      cwd: emptyFolder,
      env: { DATABASE_URL: 'postgres://me:s3cret@localhost/db' },
    });
    expect(stdout).not.toContain('s3cret');
    expect(JSON.parse(stdout).settings).toContainEqual({
      path: 'database.url',
      value: 'postgres://me:***@localhost/db',
      from: 'DATABASE_URL',
    });
  });
});

describe('syncline start', () => {
  it.each(['SIGTERM', 'SIGINT'] as const)(
    'SCH-9: %s shuts down gracefully with exit code 0',
    async (signal) => {
      await connect();
      const service = startCli(['start', '--roles', 'scheduler'], onDatabase({ SYNCLINE_METRICS_PORT: '0' }));
      await service.output(/tick: placed 1 job/);
      service.process.kill(signal);
      const { code, stdout } = await service.finished;
      expect(code).toBe(0);
      const lines = stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as Record<string, unknown>);
      expect(lines.map((line) => line['event']).filter(Boolean)).toEqual(['shutdown', 'stopped']);
    },
  );

  it('SCH-9: SIGTERM right after the first output shuts down gracefully', async () => {
    const service = startCli(['start', '--roles', 'scheduler'], onDatabase({ SYNCLINE_METRICS_PORT: '0' }));
    await service.output(/metrics at/);
    service.process.kill('SIGTERM');
    expect(await service.finished).toMatchObject({ code: 0, signal: null });
  });

  it('SCH-10: serves tick metrics', async () => {
    await connect();
    const service = startCli(
      ['start'],
      onDatabase({ SYNCLINE_METRICS_PORT: '0', SYNCLINE_SERVER_PORT: '0' }),
    );
    const output = await service.output(/tick: placed 1 job/);
    const url = /http:\/\/127\.0\.0\.1:\d+\/metrics/.exec(output)?.[0] as string;
    const text = await (await fetch(url)).text();
    expect(text).toContain('sync_scheduler_jobs_scheduled_total{provider_slug="github",tenant_id=');
    expect((await fetch(url.replace('/metrics', '/'))).status).toBe(404);
    expect(await (await fetch(url.replace('/metrics', '/healthz'))).json()).toEqual({ status: 'ok' });
  });

  it('start: rejects an unknown role with a suggestion', async () => {
    const { code, stderr } = await runCli(
      ['start', '--roles', 'sheduler'],
      onDatabase({ SYNCLINE_METRICS_PORT: '0' }),
    );
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /^error: --roles must be one of .*, got "sheduler"\. Did you mean scheduler\?\n$/,
      ),
    });
  });

  it('start: fails if the configured metrics port is in use', async () => {
    const { port } = new URL(database.url);
    const { code, stderr } = await runCliProcess(['start'], onDatabase({ SYNCLINE_METRICS_PORT: port }));
    expect(code).toBe(1);
    expect(stderr).toMatch(
      new RegExp(
        `^error: Metrics cannot be served on 127.0.0.1:${port} \\(EADDRINUSE\\)\\. Set SYNCLINE_METRICS_PORT`,
      ),
    );
  });

  it('start: fails if the default HTTP port is in use', async () => {
    const defaultPort = 4400;
    const holder = createServer();
    const isHeld = () =>
      new Promise<boolean>((resolve) => {
        holder.once('error', () => resolve(false)).listen(defaultPort, '127.0.0.1', () => resolve(true));
      });
    // Another run of this test may hold the port for a moment; a process that keeps it serves as well.
    await until('the port is held', isHeld, 20_000).catch(() => {});
    const { code, stderr } = await runCli(['start'], onDatabase({ SYNCLINE_METRICS_PORT: '0' }));
    holder.close();
    expect(code).toBe(1);
    expect(stderr).toMatch(
      /^error: HTTP cannot be served on 127\.0\.0\.1:4400 \(EADDRINUSE\)\. Set SYNCLINE_SERVER_PORT/,
    );
  });
});

describe('errors are printed in one line', () => {
  it('errors: a command without a configured database prints one line', async () => {
    expectFailure(
      await runCli(['tick'], { cwd: emptyFolder }),
      /No database is configured\. Set SYNCLINE_DATABASE_URL/,
    );
  });

  it('errors: an invalid setting is named in one line', async () => {
    expectFailure(
      await runCli(['tick'], onDatabase({ SYNCLINE_SCHEDULER_TICK_INTERVAL_SECONDS: '5' })),
      /SYNCLINE_SCHEDULER_TICK_INTERVAL_SECONDS must be a whole number of seconds from 10 to 300, got 5/,
    );
  });

  it.each(['tick', 'migrate', 'work --drain'])(
    'errors: %s retries an unreachable database, logs each retry, then fails',
    async (command) => {
      const result = await runCli(command.split(' '), {
        cwd: emptyFolder,
        env: { SYNCLINE_DATABASE_URL: 'postgres://me:s3cret@127.0.0.1:1/db' },
      });
      expectFailure(
        result,
        /Postgres at 127\.0\.0\.1:1 cannot be reached \(ECONNREFUSED\)\. Check that the server is running/,
      );
      expect(result.stderr.match(/Retrying in/g)).toHaveLength(4);
      expect(result.stderr).not.toContain('s3cret');
    },
  );

  it('errors: a wrong password is an error in one line without the password', async () => {
    const url = new URL(database.url);
    url.password = 's3cret-but-wrong';
    const result = await runCli(['tick'], { cwd: emptyFolder, env: { SYNCLINE_DATABASE_URL: url.href } });
    expectFailure(result, /refused the login of user ".*"\. Check the user and password in the database URL/);
    expect(result.stderr).not.toContain('s3cret');
  });

  it('errors: a refused login is explained by a database URL without a user', async () => {
    const url = new URL(database.url);
    url.username = '';
    url.password = '';
    expectFailure(
      await runCliProcess(['tick'], {
        cwd: emptyFolder,
        env: { SYNCLINE_DATABASE_URL: url.href, USER: 'stranger' },
      }),
      /refused the login of user "stranger"\. The database URL names no user: write postgres:\/\/user/,
    );
  });

  it.each(['tick', 'migrate'])(
    'errors: %s without a required password fails in one line',
    async (command) => {
      const url = new URL(database.url);
      url.password = '';
      expectFailure(
        await runCliProcess([command], { cwd: emptyFolder, env: { SYNCLINE_DATABASE_URL: url.href } }),
        /refused the login of user/,
      );
    },
  );

  it('errors: a database that does not exist is named in one line', async () => {
    const url = new URL(database.url);
    url.pathname = '/nowhere';
    expectFailure(
      await runCli(['tick'], { cwd: emptyFolder, env: { SYNCLINE_DATABASE_URL: url.href } }),
      /has no database "nowhere"/,
    );
  });

  it('errors: a schema that does not exist is named with the command that creates it', async () => {
    expectFailure(
      await runCli(['tick'], onDatabase({ SYNCLINE_DATABASE_SCHEMA: 'nowhere' })),
      /no Syncline schema "nowhere" yet\. Run `syncline migrate` first/,
    );
  });

  it('errors: an unknown command or option is named with a suggestion', async () => {
    expect(await runProcess('tik')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining("unknown command 'tik'"),
    });
    expect(await run('tick', '--jsn')).toMatchObject({
      code: 1,
      stderr: "error: unknown option '--jsn' (Did you mean --json?)\n",
    });
  });
});

describe('syncline --help', () => {
  it.each([[''], ['migrate'], ['start'], ['tick'], ['dev'], ['config'], ['schedule', 'preview']])(
    'help: --help of a command has examples: %s %s',
    async (...command) => {
      const { code, stdout } = await runCli([...command, '--help'], { cwd: emptyFolder });
      expect(code).toBe(0);
      expect(stdout).toMatch(/Examples?:\n {2}\$ /);
    },
  );
});
