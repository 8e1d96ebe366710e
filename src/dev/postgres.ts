import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import pg from 'pg';
import { describeError, SynclineError } from '../contract/errors.ts';
import { type Account, accountMay, type Binaries, locateBinaries, unprivilegedAccount } from './binaries.ts';
import { environmentWithoutSecrets } from './environment.ts';

export interface EmbeddedPostgres {
  url: string;
  pid: number;
  /** Shuts Postgres down, and removes its data unless it is to be kept. */
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  /** Where the data lives. */
  folder: string;
  /** Whether the data stays when Postgres stops. */
  keep: boolean;
  port?: number;
  /** Settings as for `postgres -c`. */
  settings?: Record<string, string>;
}

/** Runs a real Postgres on loopback. It ends with this process, however this process ends. */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const account = unprivilegedAccount();
  const binaries = locateBinaries(account);
  const { data, passwordFile } = placesIn(options.folder);
  prepareFolder(options.folder, account);
  if (!existsSync(join(data, 'PG_VERSION'))) initialise(binaries, data, passwordFile, account);

  const port = options.port ?? (await freePort());
  const url = urlOf(port, passwordFile);
  const server = launch(binaries, data, port, options.settings ?? {}, account);
  const removed = [
    ...(options.keep ? [] : [options.folder]),
    ...(binaries.temporaryFolder ? [binaries.temporaryFolder] : []),
  ];
  const guard = stopWithParent(server.process, removed);
  // A server that is gone must not be signalled: by then its process id may be somebody else's.
  server.process.once('exit', () => guard.kill('SIGKILL'));
  await untilReady(url, server);

  return {
    url,
    pid: server.process.pid as number,
    async stop() {
      if (server.process.exitCode === null && server.process.signalCode === null) {
        const exited = new Promise((resolve) => server.process.once('exit', resolve));
        server.process.kill('SIGINT');
        await exited;
      }
      for (const folder of removed) rmSync(folder, { recursive: true, force: true });
    },
  };
}

const placesIn = (folder: string) => ({ data: join(folder, 'data'), passwordFile: join(folder, 'password') });

function urlOf(port: number | string, passwordFile: string): string {
  return `postgres://syncline:${readFileSync(passwordFile, 'utf8').trim()}@127.0.0.1:${port}/postgres`;
}

/** The address of the embedded Postgres that another process runs on this data, if one does. */
export function findRunningPostgres(folder: string): string | undefined {
  const { data, passwordFile } = placesIn(folder);
  try {
    // Postgres itself writes this file: its process id in the first line, its port in the fourth.
    const [pid, , , port] = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
    process.kill(Number(pid), 0);
    return port ? urlOf(port, passwordFile) : undefined;
  } catch {
    return undefined;
  }
}

/** A loopback port that is free now. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const address = probe.address();
      probe.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}

function prepareFolder(folder: string, account: Account | undefined): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (account) chownSync(folder, account.uid, account.gid);
  if (!accountMay(account, '-w', folder)) {
    throw new SynclineError('EMBEDDED_POSTGRES', `Postgres cannot write to ${folder}.`, {
      hint: 'Start from a folder that other users may enter, or set SYNCLINE_DATABASE_URL to a Postgres of your own.',
    });
  }
}

function initialise(
  { initdb }: Binaries,
  data: string,
  passwordFile: string,
  account: Account | undefined,
): void {
  // Made aside and moved into place when complete, so that one that was interrupted is not taken for a database.
  const unfinished = `${data}.new`;
  rmSync(unfinished, { recursive: true, force: true });
  writeFileSync(passwordFile, `${randomBytes(18).toString('base64url')}\n`, { mode: 0o600 });
  if (account) chownSync(passwordFile, account.uid, account.gid);
  const { status, stderr, error } = spawnSync(
    initdb,
    [
      '-D',
      unfinished,
      '-U',
      'syncline',
      '--pwfile',
      passwordFile,
      '-A',
      'scram-sha-256',
      '-E',
      'UTF8',
      '--locale',
      'C',
      '--no-sync',
    ],
    { ...account, cwd: '/', env: environmentWithoutSecrets(), encoding: 'utf8' },
  );
  if (status !== 0) {
    rmSync(unfinished, { recursive: true, force: true });
    throw new SynclineError(
      'EMBEDDED_POSTGRES',
      `Postgres could not create its data folder: ${stderr || error?.message}`,
    );
  }
  renameSync(unfinished, data);
}

interface Server {
  process: ChildProcess;
  /** The last lines it wrote. */
  log: () => string;
}

function launch(
  { postgres }: Binaries,
  data: string,
  port: number,
  settings: Record<string, string>,
  account: Account | undefined,
): Server {
  const all = { listen_addresses: '127.0.0.1', unix_socket_directories: '', timezone: 'UTC', ...settings };
  const flags = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  // Detached: Ctrl-C in a terminal goes to the whole process group, and Postgres must outlive the last transaction.
  const child = spawn(postgres, ['-D', data, '-p', String(port), ...flags], {
    ...account,
    cwd: '/',
    env: environmentWithoutSecrets(),
    detached: true,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let log = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    log = (log + text).slice(-2000);
  });
  child.on('error', (error) => {
    log += error.message;
  });
  return { process: child, log: () => log.trim() };
}

/** Waits behind a pipe that closes when this process ends, even by kill -9; then it ends Postgres and cleans up. */
function stopWithParent(server: ChildProcess, removed: string[]): ChildProcess {
  const script =
    'read -r _; pid=$1; shift; kill -INT "$pid"; while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done; rm -rf "$@"';
  const guard = spawn('/bin/sh', ['-c', script, 'sh', String(server.pid), ...removed], {
    cwd: '/',
    env: environmentWithoutSecrets(),
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.unref();
  (guard.stdin as unknown as { unref?: () => void })?.unref?.();
  return guard;
}

/** Recovery after a crash takes seconds; a server that is not there after this long will not come. */
const maxReadyTries = 1200;

async function untilReady(url: string, server: Server): Promise<void> {
  for (let tries = 1; ; tries++) {
    if (
      server.process.pid === undefined ||
      server.process.exitCode !== null ||
      server.process.signalCode !== null
    ) {
      throw new SynclineError('EMBEDDED_POSTGRES', `Postgres did not start: ${server.log()}`);
    }
    const client = new pg.Client({ connectionString: url });
    client.on('error', () => {});
    try {
      await client.connect();
      return;
    } catch (error) {
      const refused = (error as { code?: string }).code === '28P01';
      if (refused || tries === maxReadyTries) {
        throw new SynclineError('EMBEDDED_POSTGRES', `Postgres does not answer: ${describeError(error)}`);
      }
      await delay(50);
    } finally {
      await client.end().catch(() => {});
    }
  }
}
