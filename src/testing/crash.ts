import { randomInt } from 'node:crypto';
import type { Connector } from '../contract/connector.ts';
import { countOf, differenceOf, formatDifference } from './crash-difference.ts';
import { type CrashProblem, type CrashReport, formatProblem } from './crash-report.ts';
import {
  type ConnectorSource,
  type Plan,
  playRound,
  type Round,
  type RoundOptions,
  type Stop,
} from './crash-round.ts';
import { faultKinds } from './faults.ts';
import type { MemoryConnection, MemoryOptions } from './memory.ts';
import { sampleOf, seededRandom } from './sample.ts';

export interface CrashTestOptions extends MemoryOptions {
  /** Resets the provider before every round. */
  reset?: (() => void | Promise<void>) | undefined;
  /** Changes the provider after n requests. */
  meanwhile?: ((requests: number) => void | Promise<void>) | undefined;
  /**
   * Throws if the stored signals are wrong; default: they equal the baseline. Required if the provider
   * changes during a round, as versions depend on timing.
   */
  check?: ((connection: MemoryConnection) => void | Promise<void>) | undefined;
  /** Changes the provider after the first sync; the second must find what a new connection finds. */
  later?: (() => void | Promise<void>) | undefined;
  /** Expected signals; without it, signals never found go unnoticed. */
  expected?: number | undefined;
  /** At every request, at a sample of 12 (default), or none. */
  faults?: 'every' | 'sample' | 'none' | undefined;
  /** Second crashes during recovery. Default: 20. */
  secondCrashes?: number | undefined;
  /** Of the samples, from a failure message. */
  seed?: number | undefined;
  /** A round name, from a failure message. */
  only?: string | undefined;
  /** Default: 1,000. A round is a full sync: quadratic cost. */
  maxRounds?: number | undefined;
  /** Collects problems; default: throws the first. */
  keepGoing?: boolean | undefined;
  onProgress?: ((progress: CrashProgress) => void) | undefined;
}

export interface CrashProgress {
  done: number;
  of: number;
  round: string;
}

interface NamedPlan extends Plan {
  name: string;
}

/** Connectors pause before retrying a fault. */
const sampledFaults = 12;
const defaultSecondCrashes = 20;
const defaultRounds = 1000;
const maxProblems = 10;

/**
 * Repeats a sync with faulty responses, and with crashes around each request and before storing each page.
 * Throws if signals are lost or duplicated.
 */
export async function crashTest(
  connector: Connector | ConnectorSource,
  options: CrashTestOptions = {},
): Promise<CrashReport> {
  const make: ConnectorSource = typeof connector === 'function' ? connector : () => connector;
  const seed = options.seed ?? randomInt(2 ** 31);
  const report: CrashReport = emptyReport(seed);
  const onProblem = (round: string, problem: string) => {
    const entry: CrashProblem = { round, problem, seed };
    if (!options.keepGoing) throw new Error(formatProblem(entry));
    report.problems.push(entry);
  };

  const baselineRound = await runBaseline(make, options, report);
  const baseline = countOf(baselineRound.connection.signals);
  await checkWhole(make, options, baselineRound, baseline, onProblem);

  const { plans, left } = choosePlans(plansFor(report, options, seededRandom(seed)), options, seed);
  report.left = left;
  for (const [done, plan] of plans.entries()) {
    if (report.problems.length >= maxProblems) break;
    options.onProgress?.({ done, of: plans.length, round: plan.name });
    const round = await playRound(make, options, plan);
    const problem = round.problem ?? (await problemOf(options, baseline, round.connection));
    if (problem) onProblem(plan.name, problem);
    countRound(report, plan, round);
  }
  options.onProgress?.({ done: plans.length, of: plans.length, round: 'done' });
  return report;
}

const emptyReport = (seed: number): CrashReport => ({
  requests: 0,
  pages: 0,
  crashes: 0,
  signals: 0,
  faults: 0,
  secondCrashes: 0,
  unreached: 0,
  left: 0,
  seed,
  problems: [],
});

async function runBaseline(
  make: ConnectorSource,
  options: RoundOptions,
  report: CrashReport,
): Promise<Round> {
  const baselineRound = await playRound(make, options, { stops: [] });
  if (baselineRound.problem) throw new Error(`Without crashes or faults, ${baselineRound.problem}.`);
  const { requests, pages, connection } = baselineRound;
  Object.assign(report, { requests, pages, signals: connection.signals.length });
  return baselineRound;
}

async function problemOf(
  { check }: CrashTestOptions,
  baseline: Map<string, number>,
  connection: MemoryConnection,
): Promise<string | undefined> {
  if (!check) return formatDifference(differenceOf(baseline, countOf(connection.signals)));
  try {
    await check(connection);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

type Found = (round: string, problem: string) => void;

async function checkWhole(
  make: ConnectorSource,
  options: CrashTestOptions,
  baselineRound: Round,
  baseline: Map<string, number>,
  onProblem: Found,
): Promise<void> {
  const { expected, later } = options;
  const stored = baselineRound.connection.signals.length;
  if (expected !== undefined && stored !== expected)
    onProblem('undisturbed', `${stored} signals were stored, expected ${expected}`);

  if (options.check) {
    const problem = await problemOf(options, baseline, baselineRound.connection);
    if (problem) onProblem('undisturbed', problem);
    return;
  }
  const failed = await baselineRound.again();
  const { doubled } = differenceOf(baseline, countOf(baselineRound.connection.signals));
  const repeated = doubled.filter((shown) => baseline.has(shown));
  const repeatProblem = failed ?? formatDifference({ lost: [], doubled: repeated });
  if (repeatProblem)
    onProblem('second sync', `${repeatProblem}. Does every repeated signal have a dedupeKey?`);

  const other = await playRound(make, options, { stops: [] });
  const difference =
    other.problem ?? formatDifference(differenceOf(baseline, countOf(other.connection.signals)));
  if (difference)
    onProblem(
      'another connection',
      `${difference}. Does the connector keep state outside its cursor, such as a module variable? ` +
        'Or is a reset of the provider missing?',
    );
  if (later) await checkLater(make, options, other, onProblem);
}

async function checkLater(make: ConnectorSource, options: CrashTestOptions, first: Round, onProblem: Found) {
  await options.later?.();
  const failed = await first.again();
  const fresh = await playRound(make, { ...options, reset: undefined }, { stops: [] });
  const known = new Set(first.connection.signals.map(identityOf));
  const lost = fresh.connection.signals
    .filter((signal) => !known.has(identityOf(signal)))
    .map(({ kind, payload }) => `${kind} ${JSON.stringify(payload)}`);
  const problem = failed ?? fresh.problem ?? formatDifference({ lost, doubled: [] });
  if (problem) onProblem('what came later', `a new connection finds more than the next sync did: ${problem}`);
}

const identityOf = ({ kind, payload, dedupeKey }: Round['connection']['signals'][number]) =>
  dedupeKey ?? `${kind} ${JSON.stringify(payload)}`;

const numbersUpTo = (max: number) => Array.from({ length: max }, (_, i) => i + 1);
const nameOf = ({ at, n }: Stop) => `${at} ${n}`;

function plansFor(report: CrashReport, options: CrashTestOptions, random: () => number): NamedPlan[] {
  const stops = [
    ...numbersUpTo(report.requests).flatMap((n): Stop[] => [
      { at: 'before request', n },
      { at: 'after request', n },
    ]),
    ...numbersUpTo(report.pages).map((n): Stop => ({ at: 'before storing page', n })),
  ];
  const faults = numbersUpTo(report.requests).flatMap((request) =>
    faultKinds.map(
      (kind): NamedPlan => ({
        name: `request ${request} ${kind}`,
        stops: [],
        fault: { kind, request },
      }),
    ),
  );
  // Named rounds need not be in the sample.
  const all = Number.POSITIVE_INFINITY;
  const maxFaults = options.only
    ? all
    : { every: all, sample: sampledFaults, none: 0 }[options.faults ?? 'sample'];
  const maxPairs = options.only ? all : (options.secondCrashes ?? defaultSecondCrashes);
  return [
    ...stops.map((stop) => ({ name: `stopped ${nameOf(stop)}`, stops: [stop] })),
    ...sampleOf(faults, maxFaults, random),
    ...pairsOf(stops, maxPairs, random),
  ];
}

/** Soon after the first. */
function pairsOf(stops: Stop[], max: number, random: () => number): NamedPlan[] {
  const earlyStops = stops.filter(({ n }) => n <= 3);
  const all = stops.flatMap((first) => earlyStops.map((second) => [first, second] as const));
  return sampleOf(all, max, random).map(([first, second]) => ({
    name: `stopped ${nameOf(first)}, then ${nameOf(second)}`,
    stops: [first, second],
  }));
}

function choosePlans(all: NamedPlan[], { only, maxRounds = defaultRounds }: CrashTestOptions, seed: number) {
  if (only === undefined) {
    const plans = sampleOf(all, maxRounds, seededRandom(seed + 1));
    return { plans, left: all.length - plans.length };
  }
  const plans = all.filter(({ name }) => name === only);
  if (plans.length === 0 && !checkNames.includes(only))
    throw new Error(
      `No round "${only}" with seed ${seed}; there are ${all.length}, such as "${all[0]?.name}".`,
    );
  return { plans, left: all.length - plans.length };
}

const checkNames = ['undisturbed', 'second sync', 'another connection', 'what came later'];

function countRound(report: CrashReport, plan: Plan, { hits }: Round): void {
  if (hits === 0) report.unreached++;
  else if (plan.fault) report.faults++;
  else if (plan.stops.length === 1) report.crashes++;
  // Recovery may finish before the second crash.
  else if (hits === 2) report.secondCrashes++;
}
