/**
 * Measures the executor with connectors that find one signal and wait for nobody: how many syncs per second real processes
 * claim, run and commit, against SQL that writes the same rows and does nothing else; how late jobs start at half of that;
 * what a claim costs beside many jobs that are not to run; and what a process costs that has nothing to do. Everything runs
 * on one embedded Postgres that keeps its promises (fsync on). `npm run bench:executor -- --quick` tries it out with less.
 */
import { parseArgs } from 'node:util';
import type pg from 'pg';
import { createFleet } from '../tools/fleet.ts';
import { progress, whole } from '../tools/report.ts';
import { facts, onPostgres } from '../tools/server.ts';
import { connectBare } from './bare.ts';
import { measureCrowds } from './crowd.ts';
import {
  bestProcesses,
  type DrainBench,
  drain,
  drainRounds,
  drainTable,
  engineRate,
  ratioTable,
} from './drain.ts';
import { measureIdleProcess } from './idle.ts';
import { countingSettings, prepareCounting } from './statements.ts';
import { measureSteady, type Steady, steadyTable } from './steady.ts';
import { startWorkers, type Workers } from './workers.ts';

const postgresSettings = { shared_buffers: '1GB', max_wal_size: '4GB', ...countingSettings };

/** The most at once. */
const [processes, bareConnections] = [4, 2];
const executor = { concurrency: 400, claimBatch: 200 };

const { values: options } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
const scale = options.quick
  ? { jobs: 5000, rounds: 3, steadySeconds: 5, fresh: 3000, crowd: 20_000, crowdRounds: 3, idleSeconds: 10 }
  : {
      jobs: 20_000,
      rounds: 5,
      steadySeconds: 15,
      fresh: 10_000,
      crowd: 100_000,
      crowdRounds: 5,
      idleSeconds: 60,
    };

async function steadyAtHalf(client: pg.Client, url: string, workers: Workers, most: number): Promise<Steady> {
  const fleet = await createFleet(client, url, Math.round((most / 2) * scale.steadySeconds), 'steady');
  const steady = await measureSteady(
    { client, workers, fleet },
    { processes: 2, seconds: scale.steadySeconds },
  );
  await fleet.engine.stop();
  return steady;
}

async function warmUp(bench: DrainBench): Promise<void> {
  progress('warming up');
  await drain(bench, { kind: 'bare', count: 2 });
  await drain(bench, { kind: 'engine', count: processes });
}

async function measure(bench: DrainBench, url: string): Promise<string> {
  const { client, workers, fleet } = bench;
  await warmUp(bench);
  const rounds = await drainRounds(bench, scale.rounds);
  const steady = await steadyAtHalf(client, url, workers, engineRate(rounds, 2));
  const sizes = { fresh: scale.fresh, crowd: scale.crowd };
  const crowds = await measureCrowds({ client, url, workers }, sizes, scale.crowdRounds);
  const idle = await measureIdleProcess({ client, workers, fleet }, scale.idleSeconds);

  return [
    '# Executor benchmark',
    await facts(client, postgresSettings),
    `Each process runs with concurrency ${executor.concurrency} and claimBatch ${executor.claimBatch}, and its own connectors. Each sync brings one signal and one
cursor. After every drain each job is checked to have succeeded once, with one signal and its cursor stored.`,
    '## Draining',
    `${whole(fleet.size)} due jobs, from the order to drain until the last process has nothing left; ${scale.rounds} rounds, all ways in turns; medians.
Bare SQL claims and finishes the same rows under the same triggers, ${executor.claimBatch} at a time with a transaction each to claim and to finish.
Statements are counted by Postgres, BEGIN and COMMIT included.`,
    drainTable(rounds),
    `Ratios are of the same round. ${bestProcesses(rounds)} processes were fastest.`,
    ratioTable(rounds),
    '## Start lag',
    `Jobs come due evenly for ${scale.steadySeconds} s, half as many as 2 processes drained per second. Lag is from when a job was due until its
connector was called.`,
    steadyTable(steady),
    '## Claiming beside others',
    `One process drains ${whole(scale.fresh)} due jobs of priority 0 while ${whole(scale.crowd)} connections have jobs that are not to run; ${scale.crowdRounds} rounds in turns. A ratio
compares with the queue that holds nothing else, in the same round; medians.`,
    crowds,
    '## Idle',
    idle,
  ].join('\n\n');
}

async function run(client: pg.Client, url: string): Promise<string> {
  await prepareCounting(client);
  const fleet = await createFleet(client, url, scale.jobs);
  const workers = startWorkers(processes, { url, ...executor });
  const bare = await Promise.all(Array.from({ length: bareConnections }, () => connectBare(url)));
  try {
    return await measure({ client, bare, workers, fleet }, url);
  } finally {
    await Promise.all([workers.stop(), fleet.engine.stop(), ...bare.map((connection) => connection.end())]);
  }
}

await onPostgres(postgresSettings, run);
