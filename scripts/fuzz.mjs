import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const help = `Tries what nobody would send, return or write, much longer than the tests do, on a Postgres of its own.

  npm run fuzz -- [--requests n] [--results n] [--documents n] [--only what] [--seed n]

  --requests n    requests of one tenant to the API, half of them for what is another's (100,000)
  --results n     what connectors return and throw, run by an engine (100,000)
  --documents n   what others write into connections.metadata: told, placed, run and mended (100,000)
  --only what     requests, results or documents, and nothing else
  --seed n        where to begin; the time unless given

Every round has a seed of its own. A failure ends with the line that runs its round again. Exits with 1 where something was wrong.

Examples:
  npm run fuzz
  npm run fuzz -- --requests 1000 --results 0 --documents 0
  npm run fuzz -- --only results --results 1000 --seed 4711
`;

const kinds = ['requests', 'results', 'documents'];
const option = { type: 'string' };

function fail(message) {
  process.stderr.write(`error: ${message}\n\n${help}`);
  process.exit(1);
}

function optionsOf() {
  try {
    return parseArgs({
      options: {
        requests: option,
        results: option,
        documents: option,
        only: option,
        seed: option,
        help: { type: 'boolean' },
      },
    }).values;
  } catch (error) {
    return fail(error.message);
  }
}

function whole(name, text) {
  if (!/^\d{1,9}$/.test(text))
    fail(`--${name} is ${JSON.stringify(text)}; it must be a whole number from 0 to 999999999.`);
  return Number(text);
}

const options = optionsOf();
if (options.help) {
  process.stdout.write(help);
  process.exit(0);
}
if (options.only !== undefined && !kinds.includes(options.only))
  fail(`--only is ${JSON.stringify(options.only)}; it must be one of ${kinds.join(', ')}.`);

const counts = Object.fromEntries(kinds.map((kind) => [kind, whole(kind, options[kind] ?? '100000')]));
const wanted = kinds.filter((kind) => counts[kind] > 0 && (options.only ?? kind) === kind);
if (wanted.length === 0) fail('There is nothing to try.');
const env = {
  ...process.env,
  FUZZ_PROGRESS: '1',
  ...Object.fromEntries(wanted.map((kind) => [`FUZZ_${kind.toUpperCase()}`, String(counts[kind])])),
  TEST_SEED: options.seed === undefined ? 'random' : String(whole('seed', options.seed)),
};
const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
const files = wanted.map((kind) => `test/hostile/fuzz-${kind}.test.ts`);
// One after the other: each keeps a processor and a Postgres busy.
const args = [vitest, 'run', '--disable-console-intercept', '--no-file-parallelism', ...files];
const cwd = fileURLToPath(new URL('..', import.meta.url));
const child = spawn(process.execPath, args, { cwd, env, stdio: 'inherit' });
child.once('exit', (code) => process.exit(code ?? 1));
