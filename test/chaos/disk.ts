import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** Where the data of the run's Postgres lies. */
export interface Disk {
  folder: string;
  /** Leaves room for nothing more; undefined where this process may not mount. */
  fill: (() => void) | undefined;
  empty(): void;
  remove(): void;
}

/** Far more than an hour leaves behind. It takes memory only as far as it is used. */
const wholeMegabytes = 4096;

/** A disk of its own in memory, which can be made as small as what is on it; where mounting is not allowed, a folder. */
export function openDisk(): Disk {
  const folder = mkdtempSync(join(tmpdir(), 'syncline-chaos-'));
  // Postgres may run as another user, who has to get through.
  chmodSync(folder, 0o755);
  const succeeds = (program: string, ...args: string[]) =>
    spawnSync(program, args, { stdio: 'ignore' }).status === 0;
  const mount = (...args: string[]) => succeeds('mount', ...args);
  const isMounted = mount('-t', 'tmpfs', '-o', `size=${wholeMegabytes}m,mode=755`, 'tmpfs', folder);
  const resize = (bytes: number) => isMounted && mount('-o', `remount,size=${bytes}`, folder);
  const usedBytes = () => {
    const { blocks, bfree, bsize } = statfsSync(folder);
    return (blocks - bfree) * bsize;
  };
  /** Somebody may have written since it was asked how full it is; there is always a little that can be left. */
  const fill = () => {
    for (let spare = 64 * 1024; !resize(usedBytes() + spare); spare *= 2)
      if (spare > 64 * 1024 * 1024) throw new Error(`The disk at ${folder} could not be made smaller.`);
  };
  // It waits behind a pipe that closes when this process ends, even by kill -9; nobody else knows of the disk.
  const script = 'read -r _; sleep 2; umount -l "$1"; rm -rf "$1"';
  const guard = spawn('/bin/sh', ['-c', script, 'sh', folder], {
    cwd: '/',
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  guard.unref();
  const remove = () => {
    guard.kill('SIGKILL');
    if (isMounted) succeeds('umount', '-l', folder);
    rmSync(folder, { recursive: true, force: true });
  };
  return {
    folder,
    fill: isMounted ? fill : undefined,
    empty: () => void resize(wholeMegabytes * 1024 * 1024),
    remove,
  };
}
