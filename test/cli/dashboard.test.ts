import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { expectFailure } from '../support/cli.ts';
import { useDatabase } from '../support/database.ts';
import { type Running, runCli, startCli } from '../support/process.ts';
import { hasPseudoTerminal, startCliInTerminal } from '../support/pseudo-terminal.ts';
import { until } from '../support/until.ts';

const database = useDatabase();
let cwd: string;
beforeEach(() => {
  cwd = mkdtempSync(join(tmpdir(), 'syncline-dashboard-'));
});
afterEach(() => rmSync(cwd, { recursive: true }));

const onDatabase = (env: NodeJS.ProcessEnv = {}) => ({
  cwd,
  env: {
    SYNCLINE_DATABASE_URL: database.url,
    SYNCLINE_METRICS_PORT: '0',
    SYNCLINE_SERVER_PORT: '0',
    ...env,
  },
});

/** A program that stores its arguments, in place of the system's. */
function fakeOpener(): { path: string; opened: () => string } {
  const [bin, result] = [mkdtempSync(join(cwd, 'bin-')), join(cwd, 'opened')];
  writeFileSync(
    join(bin, 'xdg-open'),
    `#!/bin/sh\nprintf '%s\\n' "$#" "$@" > ${result}.new\nmv ${result}.new ${result}\n`,
  );
  chmodSync(join(bin, 'xdg-open'), 0o755);
  return { path: `${bin}:${process.env['PATH']}`, opened: () => readFileSync(result, 'utf8') };
}

const isReadable = async (read: () => string) => {
  try {
    return read().length > 0;
  } catch {
    return false;
  }
};

async function link(): Promise<string> {
  const { code, stdout } = await runCli(['dashboard', '--json'], { cwd });
  expect(code).toBe(0);
  const { url, expires_in_seconds } = JSON.parse(stdout) as { url: string; expires_in_seconds: number };
  expect(expires_in_seconds).toBe(900);
  return url;
}

const login = async (url: string) => (await fetch(url, { redirect: 'manual' })).status;

async function stop(service: Running): Promise<string> {
  service.process.kill('SIGTERM');
  const { code, stdout, stderr } = await service.finished;
  expect(code).toBe(0);
  return stdout + stderr;
}

const noServer =
  /^error: No Syncline server is running in this directory\. Start one with `syncline dev` or `syncline start`/;

describe('syncline dashboard', () => {
  it('dashboard: prints a new one-time link of the server that runs in this directory', async () => {
    expectFailure(await runCli(['dashboard'], { cwd }), noServer);
    const service = startCli(['start'], onDatabase());
    await service.output(/dashboard at/);
    const [first, second] = [await link(), await link()];
    expect(second).not.toBe(first);
    expect([await login(first), await login(second), await login(first)]).toEqual([303, 303, 401]);
    const printed = await runCli(['dashboard'], { cwd });
    expect(await login(printed.stdout.trim())).toBe(303);
    expect(printed.stderr).toBe('One-time link, valid for 15 minutes.\n');

    const folder = join(cwd, '.syncline', 'servers');
    const file = join(folder, `${service.process.pid}.json`);
    expect([folder, file].map((path) => statSync(path).mode & 0o777)).toEqual([0o700, 0o600]);
    expect(readFileSync(join(cwd, '.syncline', '.gitignore'), 'utf8')).toBe('*\n');
    const { secret } = JSON.parse(readFileSync(file, 'utf8')) as { secret: string };
    const output = await stop(service);
    expect(output).not.toContain(secret);
    expect(output).not.toContain('token=');
    for (const line of output.trim().split('\n')) expect(JSON.parse(line)).toHaveProperty('msg');
    expect(readdirSync(folder)).toEqual([]);
    expectFailure(await runCli(['dashboard'], { cwd }), noServer);
  });

  it('dashboard: ignores the file of a killed server, and the next server deletes it', async () => {
    const killed = startCli(['start'], onDatabase());
    await killed.output(/dashboard at/);
    killed.process.kill('SIGKILL');
    await killed.finished;
    expectFailure(await runCli(['dashboard'], { cwd }), noServer);
    const service = startCli(['dev', '--json'], onDatabase());
    await service.output(/dashboard at/);
    expect(readdirSync(join(cwd, '.syncline', 'servers'))).toEqual([`${service.process.pid}.json`]);
    expect(await login(await link())).toBe(303);
    expect(await stop(service)).not.toContain('token=');
  });

  it.runIf(process.platform === 'linux')(
    'dashboard: --open passes the link to the system as one argument, or says why not',
    async () => {
      const { path, opened } = fakeOpener();
      const service = startCli(['start'], onDatabase());
      await service.output(/dashboard at/);
      const { stdout } = await runCli(['dashboard', '--open'], { cwd, env: { PATH: path } });
      await until('the browser is opened', () => isReadable(opened));
      expect(opened()).toBe(`1\n${stdout}`);
      const without = await runCli(['dashboard', '--open'], { cwd, env: { PATH: cwd } });
      expect(without.code).toBe(0);
      expect(without.stderr).toMatch(/Could not open a browser: xdg-open is not installed\. Open the link/);
      await stop(service);
    },
  );
});

describe.runIf(hasPseudoTerminal)('keys of syncline dev in a terminal', () => {
  it('keys: o opens the dashboard, h shows the keys, q stops and restores the terminal', async () => {
    const { path, opened } = fakeOpener();
    const service = startCliInTerminal(['dev'], onDatabase({ PATH: path }));
    await service.output(/Keys.*o open · h help · q stop/);
    service.process.stdin?.write('xo');
    await until('the browser is opened', () => isReadable(opened));
    expect(await login(opened().split('\n')[1] as string)).toBe(303);
    service.process.stdin?.write('h');
    await service.output(/o {2}open the dashboard in the browser/);
    service.process.stdin?.write('q');
    const { stdout } = await service.finished;
    expect(stdout).toMatch(/received SIGINT[\s\S]*stopped[\s\S]*exit code 0/);
    expect(stdout).toMatch(/^isig icanon iexten echo /m);
  });

  it('keys: Ctrl-C stops the process with exit code 0', async () => {
    const service = startCliInTerminal(['dev'], onDatabase());
    await service.output(/Keys/);
    service.process.stdin?.write('\x03');
    await service.output(/exit code 0/);
    expect((await service.finished).stdout).toMatch(/^isig icanon iexten echo /m);
  });
});
