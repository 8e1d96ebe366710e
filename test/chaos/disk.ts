import { spawn, spawnSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Disk {
  folder: string;
  /** Leaves no free space; undefined if this process may not mount. */
  fill: (() => void) | undefined;
  empty(): void;
  remove(): void;
}

/** Far more than an hour writes. A tmpfs takes only the memory it uses. */
const sizeMegabytes = 4096;

/** A tmpfs that can be shrunk to its contents; without the privilege to mount, a folder. */
export function openDisk(): Disk {
  const folder = mkdtempSync(join(tmpdir(), 'syncline-chaos-'));
  // Postgres may run as another user.
  chmodSync(folder, 0o755);
  const succeeds = (program: string, ...args: string[]) =>
    spawnSync(program, args, { stdio: 'ignore' }).status === 0;
  const mount = (...args: string[]) => succeeds('mount', ...args);
  const isMounted = mount('-t', 'tmpfs', '-o', `size=${sizeMegabytes}m,mode=755`, 'tmpfs', folder);
  const resize = (bytes: number) => isMounted && mount('-o', `remount,size=${bytes}`, folder);
  const usedBytes = () => {
    const { blocks, bfree, bsize } = statfsSync(folder);
    return (blocks - bfree) * bsize;
  };
  /** Retries with more free space, because Postgres may write between statfs and remount. */
  const fill = () => {
    for (let freeBytes = 64 * 1024; !resize(usedBytes() + freeBytes); freeBytes *= 2)
      if (freeBytes > 64 * 1024 * 1024) throw new Error(`The disk at ${folder} could not be shrunk.`);
  };
  // Unmounts when the pipe closes, which happens even if this process is killed with kill -9.
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
    empty: () => void resize(sizeMegabytes * 1024 * 1024),
    remove,
  };
}
