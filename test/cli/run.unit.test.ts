import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runCli } from '../../src/cli/run.ts';
import { createTerminal, type TerminalOptions } from '../support/terminal.ts';
import { until } from '../support/until.ts';

const folder = mkdtempSync(join(tmpdir(), 'syncline-run-'));
afterAll(() => rmSync(folder, { recursive: true }));
const write = (file: string, text: string) => writeFileSync(join(folder, file), text);

beforeAll(() => {
  write(
    'counter.mjs',
    `export default { provider: 'counter', name: 'Counter', sync: async ({ cursor = 0, log }) => {
  log.debug('at \\u001b[31m' + cursor);
  return { signals: [{ kind: 'count', occurredAt: new Date(0), payload: cursor }], nextCursor: cursor + 1 };
} };`,
  );
  write(
    'failing.mjs',
    `export default { provider: 'failing', name: 'F', sync: () => { throw new Error(); } };`,
  );
});

async function run(args: string[], options: TerminalOptions = {}) {
  const terminal = createTerminal(args, { cwd: folder, ...options });
  const code = await runCli(terminal, '1.2.3');
  return { code, ...terminal.written() };
}

describe('runCli', () => {
  it('runCli: two commands side by side use their own arguments, environment, folder and output', async () => {
    write('syncline.config.mjs', 'export default { executor: { concurrency: 7 } };');
    const size = (text: string) => ({ env: { SYNCLINE_SCHEDULER_BATCH_SIZE: text } });
    const [inFolder, elsewhere] = await Promise.all([
      run(['config'], size('11')),
      run(['config', '--json'], { ...size('12'), cwd: tmpdir() }),
    ]);
    rmSync(join(folder, 'syncline.config.mjs'));
    expect(inFolder.stdout).toMatch(/^scheduler\.batchSize +11 /m);
    expect(inFolder.stdout).toMatch(
      /^executor\.concurrency +7 +executor\.concurrency in syncline\.config\.mjs$/m,
    );
    const { settings } = JSON.parse(elsewhere.stdout) as { settings: { path: string }[] };
    expect(settings.find(({ path }) => path === 'scheduler.batchSize')).toMatchObject({ value: 12 });
    expect(settings.find(({ path }) => path === 'executor.concurrency')).toMatchObject({ from: 'default' });
  });

  it('runCli: returns the exit code and prints help, version and errors to the terminal', async () => {
    expect(await run(['--version'])).toEqual({ code: 0, stdout: '1.2.3\n', stderr: '' });
    expect(await run(['config', '--help'])).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('Usage: syncline config'),
    });
    expect(await run(['connections'])).toMatchObject({
      code: 1,
      stdout: '',
      stderr: expect.stringContaining('Usage: syncline connections'),
    });
    expect(await run(['tik'])).toEqual({
      code: 1,
      stdout: '',
      stderr: "error: unknown command 'tik' (Did you mean tick?)\n",
    });
    expect(await run(['connector', 'run', './none.mjs'])).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(/^error: <file> must be an existing file, got "\.\/none\.mjs"\./),
    });
  });

  it('runCli: a failed command leaves the exit code of the process unchanged', async () => {
    const before = process.exitCode;
    expect(await run(['connector', 'run', './failing.mjs', '--json'])).toMatchObject({ code: 1 });
    expect(process.exitCode).toBe(before);
  });

  it('runCli: files belong to the folder of the terminal', async () => {
    const args = ['connector', 'run', './counter.mjs', '--cursor-file', 'cursor.json', '--json'];
    for (const cursor of [1, 2]) {
      expect(JSON.parse((await run(args)).stdout)).toMatchObject({ cursor });
      expect(readFileSync(join(folder, 'cursor.json'), 'utf8')).toBe(`${cursor}\n`);
    }
    const { stdout } = await run(['connector', 'new', 'tracker', '--dir', 'made']);
    expect(stdout).toContain('Wrote made/tracker.ts and made/tracker.test.ts.');
    expect(stdout).toContain('npx syncline connector run ./made/tracker.ts');
    expect(existsSync(join(folder, 'made/tracker.ts'))).toBe(true);
  });

  it('runCli: the log goes to the terminal, readable or as JSON', async () => {
    const args = ['connector', 'run', './counter.mjs', '--verbose'];
    expect((await run(args)).stderr).toMatch(/^\[\d\d:\d\d:\d\d\] DEBUG: at \\u001b\[31m0\n$/m);
    const { stderr } = await run([...args, '--json']);
    expect(JSON.parse(stderr.split('\n')[0] as string)).toMatchObject({ level: 20, msg: 'at \u001b[31m0' });
  });

  it('runCli: a signal of the terminal ends the command; the process gets no listener', async () => {
    const listeners = () => ['SIGINT', 'SIGTERM'].map((name) => process.listenerCount(name));
    const before = listeners();
    const terminal = createTerminal(['connector', 'run', './counter.mjs', '--watch'], { cwd: folder });
    const ended = runCli(terminal, '1.2.3');
    await until('it watches', async () => terminal.written().stderr.includes('Watching 1 file'));
    expect(listeners()).toEqual(before);
    terminal.signals.emit('SIGINT', 'SIGINT');
    expect(await ended).toBe(0);
  });
});
