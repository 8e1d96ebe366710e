import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const help = `Runs the fuzz tests with more rounds than the test suite, on an embedded Postgres.

  npm run fuzz -- [--requests n] [--results n] [--documents n] [--only kind] [--seed n]

  --requests n    API requests of one tenant, half of them for objects of another (default: 100000)
  --results n     results and errors of connectors, run by an engine (default: 100000)
  --documents n   values written to connections.metadata by others (default: 100000)
  --only kind     run only requests, results or documents
  --seed n        first seed (default: the current time)

Each round has its own seed. A failure prints the command that repeats its round.
Exit status: 0 if all rounds pass, otherwise 1.

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
const selected = kinds.filter((kind) => counts[kind] > 0 && (options.only ?? kind) === kind);
if (selected.length === 0) fail('All counts are 0: nothing to run.');
const env = {
  ...process.env,
  FUZZ_PROGRESS: '1',
  ...Object.fromEntries(selected.map((kind) => [`FUZZ_${kind.toUpperCase()}`, String(counts[kind])])),
  TEST_SEED: options.seed === undefined ? 'random' : String(whole('seed', options.seed)),
};
const vitest = fileURLToPath(new URL('../node_modules/vitest/vitest.mjs', import.meta.url));
const files = selected.map((kind) => `test/hostile/fuzz-${kind}.test.ts`);
// Sequentially: each file saturates a CPU and a Postgres.
const args = [vitest, 'run', '--disable-console-intercept', '--no-file-parallelism', ...files];
const cwd = fileURLToPath(new URL('..', import.meta.url));
const child = spawn(process.execPath, args, { cwd, env, stdio: 'inherit' });
child.once('exit', (code) => process.exit(code ?? 1));
