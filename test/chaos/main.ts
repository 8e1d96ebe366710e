/** `npm run chaos`: see docs/internals/chaos.md. */
import { parseArgs } from 'node:util';
import { faults } from './plan.ts';
import { reportText } from './report.ts';
import { runChaos } from './run.ts';

const kinds = faults.map(({ kind }) => kind);

const help = `Usage: npm run chaos -- [--minutes <n>] [--seed <n>] [--only <kinds>] [--connections <n>]

A fleet of real processes on a Postgres of its own, faults of every kind, and then: is anything missing or doubled?
Exits with 0 if not, with 1 if so, and says with which seed it can be repeated.

  --minutes <n>      how long there are faults (2); every kind comes at least once, however short that is
  --seed <n>         which faults come when; a new one unless given
  --only <kinds>     of these: ${kinds.join(', ')}
  --connections <n>  how many there are (300)

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
if (unknown.length > 0) refuse(`There is no kind of fault called ${unknown.join(', ')}.`);
if (!(minutes > 0)) refuse(`--minutes is "${values.minutes}"; it must be a number above 0.`);
if (!Number.isInteger(seed)) refuse(`--seed is "${values.seed}"; it must be a whole number.`);
if (!Number.isInteger(connections) || connections < 1)
  refuse(`--connections is "${values.connections}"; it must be a whole number above 0.`);

// What was started ends with this process.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130));

const startedAt = Date.now();
const report = await runChaos({
  seconds: minutes * 60,
  seed,
  only,
  connections,
  maxPauseMs: 6000,
  say: (line) => print(`${String(Math.round((Date.now() - startedAt) / 1000)).padStart(5)} s  ${line}`),
});
print(`\n${reportText(report)}`);
process.exit(report.problems.length === 0 ? 0 : 1);

function refuse(why: string): never {
  process.stderr.write(`error: ${why}\n`);
  process.exit(1);
}
