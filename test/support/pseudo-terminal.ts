import { spawnSync } from 'node:child_process';
import { cli, type ProcessOptions, type Running, startProcess } from './process.ts';

/** Of util-linux: its options differ elsewhere. */
export const hasPseudoTerminal =
  process.platform === 'linux' && spawnSync('script', ['--version']).status === 0;

const quote = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** The built CLI in a terminal of its own; then prints the terminal's settings. */
export function startCliInTerminal(args: readonly string[], options: ProcessOptions = {}): Running {
  const command = [process.execPath, cli, ...args].map(quote).join(' ');
  const script = `${command}; echo "exit code $?"; stty -a`;
  return startProcess('script', ['-qfec', script, '/dev/null'], { ...options, keepsInput: true });
}
