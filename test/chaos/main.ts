/** `npm run chaos`: see docs/internals/chaos.md. */
import { parseArgs } from 'node:util';
import { faults } from './plan.ts';
import { reportText } from './report.ts';
import { runChaos } from './run.ts';

const kinds = faults.map(({ kind }) => kind);

const help = `Usage: npm run chaos -- [--minutes <n>] [--seed <n>] [--only <kinds>] [--connections <n>]

Runs a fleet of real processes on a Postgres of its own, injects faults, and then checks that no signal is
missing or duplicated. Exits with 0 on success and 1 on failure, and prints the seed that repeats the faults.

  --minutes <n>      how long to inject faults (default 2); every kind occurs at least once
  --seed <n>         determines the faults and their times (default random)
  --only <kinds>     comma-separated list of: ${kinds.join(', ')}
  --connections <n>  number of connections (default 300)

Examples:
  $ npm run chaos -- --minutes 60
  $ npm run chaos -- --minutes 5 --seed 4711
  $ npm run chaos -- --only kill,stop,cut-commit
`;

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '2' },
    seed: { type: 'string' },
    only: { type: 'string' },
    connections: { type: 'string', default: '300' },
    help: { type: 'boolean', default: false },
  },
});
const print = (text: string) => void process.stdout.write(`${text}\n`);

if (values.help) {
  print(help);
  process.exit(0);
}
const only = values.only?.split(',').map((kind) => kind.trim());
const unknown = only?.filter((kind) => !kinds.includes(kind)) ?? [];
const minutes = Number(values.minutes);
const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
const connections = Number(values.connections);
if (unknown.length > 0)
  refuse(`--only: unknown kind of fault ${unknown.join(', ')}; --help lists all kinds.`);
if (!(minutes > 0)) refuse(`--minutes is "${values.minutes}"; it must be a number above 0.`);
if (!Number.isInteger(seed)) refuse(`--seed is "${values.seed}"; it must be a whole number.`);
if (!Number.isInteger(connections) || connections < 1)
  refuse(`--connections is "${values.connections}"; it must be a whole number above 0.`);

// Child processes end when this process exits.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const startedAt = Date.now();
const report = await runChaos({
  seconds: minutes * 60,
  seed,
  only,
  connections,
  maxPauseMs: 6000,
  log: (line) => print(`${String(Math.round((Date.now() - startedAt) / 1000)).padStart(5)} s  ${line}`),
});
print(`\n${reportText(report)}`);
process.exit(report.problems.length === 0 ? 0 : 1);

function refuse(message: string): never {
  process.stderr.write(`error: ${message}\n`);
  process.exit(1);
}
