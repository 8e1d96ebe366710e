import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { promisify } from 'node:util';

/** `syncline start` of one build: engine and API in one process. */
export interface Service {
  url: string;
  stop(): Promise<void>;
}

/** What signs the deliveries of the measurement. */
export const webhookSecret = 'the secret of the measurement';

const run = promisify(execFile);

/** A build, and where it works: its own database, and a folder for its configuration. */
export interface Build {
  name: string;
  /** A checkout with `dist/`. */
  folder: string;
  databaseUrl: string;
  workFolder: string;
}

/** Runs a command of the build, and returns what it prints. */
export async function command(build: Build, ...args: string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [mainOf(build), ...args], optionsOf(build));
  return stdout;
}

/** Writes a configuration with one connector, whose runs do nothing and whose deliveries are one signal each. */
export function configure({ folder, workFolder }: Build): void {
  const from = (file: string) => JSON.stringify(join(folder, 'dist', file));
  writeFileSync(
    join(workFolder, 'syncline.config.mjs'),
    `import { defineConnector } from ${from('index.js')};
     import { githubSignature } from ${from('connector-kit/index.js')};
     const react = ({ body }) => ({ sync: false, signals: [
       { kind: 'received', occurredAt: new Date(), payload: {}, dedupeKey: JSON.parse(body.toString()).key } ] });
     const webhook = { secret: ${JSON.stringify(webhookSecret)}, verify: githubSignature(), react };
     const sync = async () => ({ signals: [], nextCursor: null });
     export default { connectors: [defineConnector({ provider: 'bench', name: 'bench', webhook, sync })] };`,
  );
}

export async function start(build: Build, port: number): Promise<Service> {
  const child = spawn(process.execPath, [mainOf(build), 'start', '--json'], {
    ...optionsOf(build, port),
    stdio: ['ignore', 'ignore', 2],
  });
  const url = `http://127.0.0.1:${port}`;
  await untilReady(child, url);
  return {
    url,
    stop: async () => {
      const exited = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await exited;
    },
  };
}

const mainOf = ({ folder }: Build) => join(folder, 'dist/cli/main.js');

const optionsOf = ({ workFolder, databaseUrl }: Build, port = 0) => ({
  cwd: workFolder,
  env: {
    ...process.env,
    SYNCLINE_DATABASE_URL: databaseUrl,
    SYNCLINE_SERVER_PORT: String(port),
    SYNCLINE_METRICS_PORT: '0',
    SYNCLINE_LOG_LEVEL: 'error',
  },
});

async function untilReady(child: ChildProcess, url: string): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`syncline start ended with ${child.exitCode}.`);
    const { status } = await fetch(`${url}/readyz`).catch(() => ({ status: 0 }));
    if (status === 200) return;
    await delay(100);
  }
}
