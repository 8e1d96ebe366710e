import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

export const webhookSecret = 'a secret';
const port = 45_117;
export const url = `http://127.0.0.1:${port}`;

export type Build = ReturnType<typeof createBuild>;

/** `folder` is a checkout with a dist/. The configuration has one connector with empty syncs and a webhook. */
export function createBuild(name: string, folder: string, databaseUrl: string) {
  const cwd = mkdtempSync(join(tmpdir(), 'syncline-pressure-'));
  const from = (file: string) => JSON.stringify(join(folder, 'dist', file));
  writeFileSync(
    join(cwd, 'syncline.config.mjs'),
    `import { defineConnector } from ${from('index.js')};
     import { githubSignature } from ${from('connector-kit/index.js')};
     const react = ({ body }) => ({ sync: false, signals: [
       { kind: 'received', occurredAt: new Date(), payload: {}, dedupeKey: JSON.parse(body.toString()).key } ] });
     const webhook = { secret: ${JSON.stringify(webhookSecret)}, verify: githubSignature(), react };
     const sync = async () => ({ signals: [], nextCursor: null });
     export default { connectors: [defineConnector({ provider: 'bench', name: 'bench', webhook, sync })] };`,
  );
  const main = join(folder, 'dist/cli/main.js');
  const settings = {
    SYNCLINE_DATABASE_URL: databaseUrl,
    SYNCLINE_SERVER_PORT: String(port),
    SYNCLINE_METRICS_PORT: '0',
    SYNCLINE_LOG_LEVEL: 'error',
  };
  const options = { cwd, env: { ...process.env, ...settings } };
  return {
    name,
    databaseUrl,
    command: async (...args: string[]) =>
      (await promisify(execFile)(process.execPath, [main, ...args], options)).stdout,
    /** Returns a function that stops the service. */
    start: async () => {
      const child = spawn(process.execPath, [main, 'start', '--json'], {
        ...options,
        stdio: ['ignore', 'ignore', 2],
      });
      const isReady = () =>
        fetch(`${url}/readyz`).then(
          ({ status }) => status === 200,
          () => false,
        );
      while (!(await isReady())) {
        if (child.exitCode !== null) throw new Error(`syncline start exited with ${child.exitCode}.`);
        await delay(100);
      }
      return async () => {
        const exited = new Promise((resolve) => child.once('exit', resolve));
        child.kill('SIGTERM');
        await exited;
      };
    },
  };
}
