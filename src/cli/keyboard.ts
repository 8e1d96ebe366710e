import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { terminal } from './terminal.ts';

const ctrlC = '\x03';
const ctrlZ = '\x1a';

/**
 * Calls the pressed key's action while in the foreground of a terminal; `q` and Ctrl-C send SIGINT. Returns a
 * function that restores the terminal.
 */
export function listenForKeys(actions: Record<string, () => void>): (() => void) | undefined {
  const { keyInput: input, signals } = terminal();
  if (!input || !isForeground()) return undefined;

  const onData = (keys: Buffer) => {
    for (const key of keys.toString()) {
      if (key === ctrlC || key === 'q') process.kill(process.pid, 'SIGINT');
      else if (key === ctrlZ) suspend();
      else actions[key]?.();
    }
  };
  // In raw mode the terminal sends no signals.
  const suspend = () => {
    pause();
    process.kill(0, 'SIGTSTP');
  };
  const resume = () => {
    if (isForeground()) input.setRawMode(true).resume();
  };
  const pause = () => input.setRawMode(false).pause();

  input.on('data', onData);
  signals.on('SIGCONT', resume);
  resume();
  return () => {
    signals.off('SIGCONT', resume);
    input.off('data', onData);
    pause();
  };
}

/** In the background, changing the terminal stops the process (SIGTTOU). */
function isForeground(): boolean {
  try {
    const [group, foreground] = process.platform === 'linux' ? groupsFromProc() : groupsFromPs();
    return group !== undefined && group === foreground;
  } catch {
    return false;
  }
}

/** The program's name may contain spaces. */
function groupsFromProc(): (string | undefined)[] {
  const fields = readFileSync('/proc/self/stat', 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return [fields[2], fields[5]];
}

function groupsFromPs(): string[] {
  return execFileSync('ps', ['-o', 'pgid=,tpgid=', '-p', String(process.pid)], { encoding: 'utf8' })
    .trim()
    .split(/\s+/);
}
