import { randomBytes, randomUUID } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { vi } from 'vitest';
import type { TestDatabase } from '../support/database.ts';
import { runCli, runCliProcess, startCli } from '../support/process.ts';
import { type Canary, canary, madeCanary, type Output } from './canary.ts';
import { type EchoingProvider, startEchoingProvider } from './canary-provider.ts';

interface CommandOptions {
  env?: NodeJS.ProcessEnv;
  input?: string;
}

/** An environment in which every secret is a canary and all output is recorded. */
export interface CanaryWorld {
  canaries: Canary[];
  /** Output that must not contain a canary. */
  outputs: Output[];
  /** Output documented to show a secret once. */
  shownOnce: Output[];
  provider: EchoingProvider;
  role: string;
  env: NodeJS.ProcessEnv;
  folder: string;
  configFile: string;
  plant(name: string, options?: { tail?: string }): string;
  /** In the test process; returns stdout. */
  cli(args: string[], options?: CommandOptions): Promise<string>;
  /** In a process of its own, whose runtime may write to its streams too. */
  cliProcess(args: string[], options?: CommandOptions): Promise<string>;
  start(args: string[]): ReturnType<typeof startCli>;
  end(): Promise<void>;
}

export async function makeCanaryWorld(database: TestDatabase): Promise<CanaryWorld> {
  const canaries: Canary[] = [];
  const outputs: Output[] = [];
  const plant = (name: string, options = {}) => {
    const made = canary(name, options);
    canaries.push(made);
    return made.secret;
  };
  const provider = await startEchoingProvider({
    // Sent in a header, which restricts the characters.
    unknownToken: plant('a token added by the provider', { tail: '+/=' }),
    newAccess: plant('a renewed access token'),
    newRefresh: plant('a renewed refresh token'),
  });
  const folder = mkdtempSync(join(tmpdir(), 'syncline-canaries-'));
  const role = `canary_${randomUUID().slice(0, 8)}`;
  const password = plant('the password of the database', { tail: `"+/=&%<'` });
  await makeRole(database, role, password);
  const url = new URL(database.url);
  url.username = role;
  url.password = encodeURIComponent(password);
  const key = randomBytes(32);
  canaries.push(
    madeCanary('an encryption key', key.toString('base64')),
    madeCanary('an encryption key, as hex', key.toString('hex')),
  );
  const env = {
    SYNCLINE_DATABASE_URL: url.href,
    SYNCLINE_CREDENTIALS_KEYS: `k1:${key.toString('base64')}`,
    SYNCLINE_LOG_LEVEL: 'trace',
    SYNCLINE_SERVER_PORT: '0',
    SYNCLINE_METRICS_PORT: '0',
    CANARY_PROVIDER: provider.url,
    CANARY_CLIENT_SECRET: plant('an OAuth client secret'),
    CANARY_APP_SECRET: plant('a webhook secret of the app'),
    CANARY_TAP_REPORT: join(folder, 'tap.json'),
  };
  const configFile = fileURLToPath(new URL('../support/fixtures/canaries.config.mjs', import.meta.url));
  // The configuration file reads the environment of its process.
  for (const [name, value] of Object.entries(env)) if (name.startsWith('CANARY_')) vi.stubEnv(name, value);
  let commands = 0;
  const recording =
    (run: typeof runCli) =>
    async (args: string[], { env: more = {}, input }: CommandOptions = {}) => {
      const name = `syncline ${args.join(' ')}, command ${++commands}`;
      const options = { cwd: folder, env: { ...env, ...more }, ...(input !== undefined && { input }) };
      const { stdout, stderr } = await run(args, options);
      outputs.push({ from: `${name}, stdout`, text: stdout }, { from: `${name}, stderr`, text: stderr });
      return stdout;
    };

  return {
    canaries,
    outputs,
    shownOnce: [],
    provider,
    role,
    env,
    folder,
    configFile,
    plant,
    cli: recording(runCli),
    cliProcess: recording(runCliProcess),
    start: (args) => startCli(args, { cwd: folder, env, outlivesTest: true }),
    end: async () => {
      vi.unstubAllEnvs();
      provider.close();
      rmSync(folder, { recursive: true, force: true });
      await database.sql(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`);
    },
  };
}

async function makeRole({ sql }: TestDatabase, role: string, password: string): Promise<void> {
  await sql(`CREATE ROLE ${role} LOGIN PASSWORD '${password.replaceAll("'", "''")}';
    GRANT USAGE ON SCHEMA syncline TO ${role};
    GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA syncline TO ${role};
    GRANT USAGE, SELECT ON ALL SEQUENCES IN SCHEMA syncline TO ${role}`);
}

export async function misconfigure(world: CanaryWorld): Promise<void> {
  const { plant, cli, cliProcess, folder } = world;
  const url = new URL(String(world.env['SYNCLINE_DATABASE_URL']));
  const withPassword = (name: string) => {
    const wrong = new URL(url);
    wrong.password = encodeURIComponent(plant(name));
    return wrong;
  };
  const down = withPassword('the password of a database that is down');
  down.port = '1';
  const inQuery = new URL('postgres://user@127.0.0.1:1/app');
  inQuery.searchParams.set('password', plant('a password among the parameters'));
  const asEnv = (SYNCLINE_DATABASE_URL: string) => ({ env: { SYNCLINE_DATABASE_URL } });
  const file = (name: string, text: string) => {
    writeFileSync(join(folder, name), text);
    return ['config', '--config', name];
  };
  await Promise.all([
    cliProcess(['migrate'], asEnv(withPassword('a wrong password').href)),
    cli(['jobs', 'list', '--json'], asEnv(down.href)),
    cli(['config'], asEnv(`postgres//user:${plant('a password in an invalid URL')}@host/app`)),
    cli(['config', '--json'], asEnv(inQuery.href)),
    cli(['config'], { env: { SYNCLINE_CREDENTIALS_KEYS: plant('an invalid encryption key') } }),
    cli(['config'], { env: { SYNCLINE_CREDENTIALS_KEYS: `k1:${plant('a key that is too short')}` } }),
    cli(
      file(
        'a.config.mjs',
        `export default { credentials: 'k1:${plant('a key one level too high', { tail: '' })}' };`,
      ),
    ),
    cli(
      file(
        'b.config.mjs',
        `export default { database: ['postgres://u:${plant('a URL in a list', { tail: '' })}@h/d'] };`,
      ),
    ),
    cli(
      file(
        'c.config.mjs',
        `export default { credentials: { keys: 'k1:${plant('keys as text', { tail: '' })}' } };`,
      ),
    ),
    cliProcess(
      file(
        'd.config.mjs',
        `const url = 'postgres://u:${plant('a password beside a mistake', { tail: '' })}@h/d'; export default {{;`,
      ),
    ),
  ]);
}

/** How the tap process was started. Its config file was in a temporary folder, which is deleted. */
export const tapReport = ({ env }: CanaryWorld): Output => ({
  from: 'arguments, environment and title of a child process',
  text: readFileSync(String(env['CANARY_TAP_REPORT']), 'utf8'),
});
