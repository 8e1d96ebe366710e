import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { randomBytes, randomInt } from 'node:crypto';
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { describeError, SynclineError } from '../contract/errors.ts';
import type { Ports } from '../platform/ports.ts';
import { type Account, accountMay, type Binaries, locateBinaries, unprivilegedAccount } from './binaries.ts';
import { environmentWithoutSecrets } from './environment.ts';

export interface EmbeddedPostgres {
  url: string;
  pid: number;
  /** Without `keep`, deletes the data. */
  stop(): Promise<void>;
}

export interface EmbeddedOptions {
  folder: string;
  keep: boolean;
  port?: number;
  ports: Pick<Ports, 'sleep'>;
  /** As for `postgres -c`. */
  settings?: Record<string, string>;
}

/** On loopback. Stops with this process, even after SIGKILL. */
export async function startEmbeddedPostgres(options: EmbeddedOptions): Promise<EmbeddedPostgres> {
  const account = unprivilegedAccount();
  const binaries = locateBinaries(account);
  const { data, passwordFile } = pathsIn(options.folder);
  prepareFolder(options.folder, account);
  if (!existsSync(join(data, 'PG_VERSION'))) initialise(binaries, data, passwordFile, account);

  const port = options.port ?? (await freePort());
  const url = urlOf(port, passwordFile);
  const server = launch(binaries, data, port, options.settings ?? {}, account);
  const temporaryFolders = [
    ...(options.keep ? [] : [options.folder]),
    ...(binaries.temporaryFolder ? [binaries.temporaryFolder] : []),
  ];
  const guard = stopWithParent(server.process, temporaryFolders);
  // The pid of an exited server may be reused.
  server.process.once('exit', () => guard.kill('SIGKILL'));
  await untilReady(url, server, options.ports);

  return {
    url,
    pid: server.process.pid as number,
    async stop() {
      if (server.process.exitCode === null && server.process.signalCode === null) {
        const exited = new Promise((resolve) => server.process.once('exit', resolve));
        server.process.kill('SIGINT');
        await exited;
      }
      for (const folder of temporaryFolders) rmSync(folder, { recursive: true, force: true });
    },
  };
}

const pathsIn = (folder: string) => ({ data: join(folder, 'data'), passwordFile: join(folder, 'password') });

function urlOf(port: number | string, passwordFile: string): string {
  return `postgres://syncline:${readFileSync(passwordFile, 'utf8').trim()}@127.0.0.1:${port}/postgres`;
}

export function findRunningPostgres(folder: string): string | undefined {
  const { data, passwordFile } = pathsIn(folder);
  try {
    // pid in line 1, port in line 4.
    const [pid, , , port] = readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n');
    process.kill(Number(pid), 0);
    return port ? urlOf(port, passwordFile) : undefined;
  } catch {
    return undefined;
  }
}

/** Below 32768: outgoing connections could take a higher port before its use. */
const portRange = { first: 20_000, count: 12_000 };

export async function freePort(): Promise<number> {
  for (;;) {
    const port = portRange.first + randomInt(portRange.count);
    if (await isFree(port)) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve, reject) => {
    const probe = createServer();
    probe.once('error', (error: NodeJS.ErrnoException) =>
      error.code === 'EADDRINUSE' ? resolve(false) : reject(error),
    );
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}

function prepareFolder(folder: string, account: Account | undefined): void {
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  if (account) chownSync(folder, account.uid, account.gid);
  if (!accountMay(account, '-w', folder)) {
    throw new SynclineError('EMBEDDED_POSTGRES', `Postgres cannot write to ${folder}.`, {
      hint: 'Start in a folder that other users can access, or set SYNCLINE_DATABASE_URL.',
    });
  }
}

function initialise(
  { initdb }: Binaries,
  data: string,
  passwordFile: string,
  account: Account | undefined,
): void {
  // Renamed when complete: an interrupted initdb must not look like a database.
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
  // Detached: Ctrl-C signals the group, and Postgres must stop last.
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

/** After this process exits, even by SIGKILL. */
function stopWithParent(server: ChildProcess, temporaryFolders: string[]): ChildProcess {
  const script =
    'read -r _; pid=$1; shift; kill -INT "$pid"; ' +
    'while kill -0 "$pid" 2>/dev/null; do sleep 0.1; done; rm -rf "$@"';
  const guard = spawn('/bin/sh', ['-c', script, 'sh', String(server.pid), ...temporaryFolders], {
    cwd: '/',
    env: environmentWithoutSecrets(),
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.unref();
  (guard.stdin as unknown as { unref?: () => void })?.unref?.();
  return guard;
}

/** 60 s at 50 ms. */
const maxReadyTries = 1200;

async function untilReady(url: string, server: Server, ports: Pick<Ports, 'sleep'>): Promise<void> {
  const exited = new AbortController();
  server.process.once('exit', () => exited.abort());
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
      const isWrongPassword = (error as { code?: string }).code === '28P01';
      if (isWrongPassword || tries === maxReadyTries) {
        throw new SynclineError('EMBEDDED_POSTGRES', `Postgres does not respond: ${describeError(error)}`);
      }
      await ports.sleep(50, exited.signal);
    } finally {
      await client.end().catch(() => {});
    }
  }
}
