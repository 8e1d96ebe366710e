import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isObject } from '../values/is-object.ts';

/** For `syncline dashboard` in the same directory. */
export interface ServerFile {
  url: string;
  secret: string;
}

const folderOf = (cwd: string) => join(cwd, '.syncline', 'servers');

/** Only this account can read it. */
export function publishServer(cwd: string, server: ServerFile): () => void {
  const folder = folderOf(cwd);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const ignore = join(cwd, '.syncline', '.gitignore');
  if (!existsSync(ignore)) writeFileSync(ignore, '*\n');
  for (const { path, pid } of entriesOf(folder)) if (!isAlive(pid)) rmSync(path, { force: true });
  const path = join(folder, `${process.pid}.json`);
  rmSync(path, { force: true });
  writeFileSync(path, `${JSON.stringify(server)}\n`, { mode: 0o600, flag: 'wx' });
  return () => rmSync(path, { force: true });
}

export function findServers(cwd: string): ServerFile[] {
  return entriesOf(folderOf(cwd))
    .filter(({ pid }) => isAlive(pid))
    .flatMap(({ path }) => read(path) ?? []);
}

function entriesOf(folder: string): { path: string; pid: number }[] {
  const names = existsSync(folder) ? readdirSync(folder) : [];
  return names.flatMap((name) => {
    const pid = Number(/^(\d+)\.json$/.exec(name)?.[1]);
    return pid > 0 ? { path: join(folder, name), pid } : [];
  });
}

/** Undefined if deleted or incomplete. */
function read(path: string): ServerFile | undefined {
  try {
    const { url, secret } = Object(JSON.parse(readFileSync(path, 'utf8'))) as Partial<ServerFile>;
    return typeof url === 'string' && typeof secret === 'string' ? { url, secret } : undefined;
  } catch {
    return undefined;
  }
}

/** EPERM: it belongs to another user. */
function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch (error) {
    return isObject(error) && error['code'] === 'EPERM';
  }
}
