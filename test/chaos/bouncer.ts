import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { unprivilegedAccount } from '../../src/dev/binaries.ts';
import { freePort } from '../../src/dev/postgres.ts';
import { until } from '../support/until.ts';

export interface Bouncer {
  url: string;
  /** Kills it, and starts it again when `away` resolves. */
  restart(away: () => Promise<void>): Promise<void>;
  stop(): void;
}

/** PATH, and where Debian installs it. */
const folders = () => [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/usr/local/sbin'];
export const findBouncer = () =>
  folders()
    .map((folder) => join(folder, 'pgbouncer'))
    .find(existsSync);

export async function startBouncer(databaseUrl: string): Promise<Bouncer | undefined> {
  const program = findBouncer();
  if (program === undefined) return undefined;
  const { hostname, port, username, password, pathname } = new URL(databaseUrl);
  const account = unprivilegedAccount();
  const folder = mkdtempSync(join(tmpdir(), 'syncline-bouncer-'));
  const listenPort = await freePort();
  const users = join(folder, 'users.txt');
  writeFileSync(users, `"${username}" "${password}"\n`);
  const file = join(folder, 'pgbouncer.ini');
  writeFileSync(
    file,
    `[databases]
${pathname.slice(1)} = host=${hostname} port=${port} dbname=${pathname.slice(1)} user=${username} password=${password}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${listenPort}
unix_socket_dir =
auth_type = plain
auth_file = ${users}
pool_mode = transaction
max_client_conn = 100
default_pool_size = 8
server_login_retry = 1
ignore_startup_parameters = extra_float_digits,options
`,
  );
  if (account) for (const path of [folder, users, file]) chownSync(path, account.uid, account.gid);
  chmodSync(folder, 0o700);

  let child: ChildProcess | undefined;
  const launch = async () => {
    child = spawn(program, ['-q', file], { ...account, cwd: '/', stdio: 'ignore' });
    await until('PgBouncer listens', () => isListening(listenPort));
  };
  const kill = async () => {
    child?.kill('SIGKILL');
    await until('PgBouncer has exited', () => child?.exitCode !== null || child?.signalCode !== null);
  };
  await launch();
  process.once('exit', () => child?.kill('SIGKILL'));
  const url = new URL(databaseUrl);
  url.port = String(listenPort);
  return {
    url: url.href,
    restart: async (away) => {
      await kill();
      await away();
      await launch();
    },
    stop: () => {
      child?.kill('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const isListening = (port: number): Promise<boolean> =>
  new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port });
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
