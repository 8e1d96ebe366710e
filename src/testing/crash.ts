import { randomInt } from 'node:crypto';
import type { Connector } from '../contract/connector.ts';
import { countOf, differenceOf, sayDifference } from './crash-difference.ts';
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
  /** Puts the provider back to where it was: called before every round, so that all of them see the same. */
  reset?: (() => void | Promise<void>) | undefined;
  /** What happens at the provider after so many requests of a round: an edit in the middle of a walk, for example. */
  meanwhile?: ((requests: number) => void | Promise<void>) | undefined;
  /**
   * Throws if what is stored in the end is not right. Without it, it must be what an undisturbed sync stores; but where
   * the provider changes meanwhile, which versions are seen on the way depends on when it was asked.
   */
  check?: ((connection: MemoryConnection) => void | Promise<void>) | undefined;
  /** What happens at the provider after the first sync. The second must then have found all that a new connection finds. */
  later?: (() => void | Promise<void>) | undefined;
  /** How many signals the provider has, where that is known: what a connector never finds is not missed otherwise. */
  expected?: number | undefined;
  /** Wrong answers: at every request, at a sample of them (of 12, unless given), or none. */
  faults?: 'every' | 'sample' | 'none' | undefined;
  /** Rounds with a second crash during the recovery from a first; 20 unless given. */
  secondCrashes?: number | undefined;
  /** What samples are drawn with; a failure tells it. */
  seed?: number | undefined;
  /** Only the round of this name, as a failure tells it. */
  only?: string | undefined;
  /** The most rounds; 1,000 unless given. Each is a sync of its own, so they cost the square of a sync's length. */
  maxRounds?: number | undefined;
  /** Goes on after a problem; all of them are then in the report, and nothing is thrown. */
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

/** A wrong answer costs a connector that tries again a pause of its own, so not all of them by default. */
const sampledFaults = 12;
const defaultSecondCrashes = 20;
const defaultRounds = 1000;
/** More of them would say the same. */
const maxProblems = 10;

/**
 * Syncs again and again, each time stopped at another place as if the process had died there: before each request, when
 * its answer is there, and before each page is stored; and with wrong answers. Then it goes on as the engine would, and
 * what is stored in the end must be what an undisturbed sync stores: nothing lost, nothing doubled. Throws where it is not.
 */
export async function crashTest(
  connector: Connector | ConnectorSource,
  options: CrashTestOptions = {},
): Promise<CrashReport> {
  const make: ConnectorSource = typeof connector === 'function' ? connector : () => connector;
  const seed = options.seed ?? randomInt(2 ** 31);
  const report: CrashReport = emptyReport(seed);
  const found = (round: string, problem: string) => {
    const one: CrashProblem = { round, problem, seed };
    if (!options.keepGoing) throw new Error(formatProblem(one));
    report.problems.push(one);
  };

  const whole = await undisturbed(make, options, report);
  const wanted = countOf(whole.connection.signals);
  await checkWhole(make, options, whole, wanted, found);

  const { plans, left } = choose(plansFor(report, options, seededRandom(seed)), options, seed);
  report.left = left;
  for (const [done, plan] of plans.entries()) {
    if (report.problems.length >= maxProblems) break;
    options.onProgress?.({ done, of: plans.length, round: plan.name });
    const round = await playRound(make, options, plan);
    const problem = round.problem ?? (await problemOf(options, wanted, round.connection));
    if (problem) found(plan.name, problem);
    count(report, plan, round);
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

/** What all rounds are compared with. One that does not come to its end says nothing about the others. */
async function undisturbed(
  make: ConnectorSource,
  options: RoundOptions,
  report: CrashReport,
): Promise<Round> {
  const whole = await playRound(make, options, { stops: [] });
  if (whole.problem) throw new Error(`Without any disturbance, ${whole.problem}.`);
  const { requests, pages, connection } = whole;
  Object.assign(report, { requests, pages, signals: connection.signals.length });
  return whole;
}

async function problemOf(
  { check }: CrashTestOptions,
  wanted: Map<string, number>,
  connection: MemoryConnection,
): Promise<string | undefined> {
  if (!check) return sayDifference(differenceOf(wanted, countOf(connection.signals)));
  try {
    await check(connection);
    return undefined;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

type Found = (round: string, problem: string) => void;

/** What has to hold also where nothing ever crashes. */
async function checkWhole(
  make: ConnectorSource,
  options: CrashTestOptions,
  whole: Round,
  wanted: Map<string, number>,
  found: Found,
): Promise<void> {
  const { expected, later } = options;
  const stored = whole.connection.signals.length;
  if (expected !== undefined && stored !== expected)
    found('undisturbed', `${stored} signals were stored, and ${expected} are expected`);

  if (options.check) {
    const problem = await problemOf(options, wanted, whole.connection);
    if (problem) found('undisturbed', problem);
    return;
  }
  const failed = await whole.again();
  const { doubled } = differenceOf(wanted, countOf(whole.connection.signals));
  const repeated = doubled.filter((shown) => wanted.has(shown));
  const again = failed ?? sayDifference({ lost: [], doubled: repeated });
  if (again) found('second sync', `${again}. Does every signal that is shown again have a dedupeKey?`);

  const other = await playRound(make, options, { stops: [] });
  const difference = other.problem ?? sayDifference(differenceOf(wanted, countOf(other.connection.signals)));
  if (difference)
    found(
      'another connection',
      `${difference}. Does the connector keep something outside its cursor, such as in a variable of its module? Or does the provider not start each round the same: is there a reset?`,
    );
  if (later) await checkLater(make, options, other, found);
}

async function checkLater(make: ConnectorSource, options: CrashTestOptions, first: Round, found: Found) {
  await options.later?.();
  const failed = await first.again();
  const fresh = await playRound(make, { ...options, reset: undefined }, { stops: [] });
  const known = new Set(first.connection.signals.map(identityOf));
  const lost = fresh.connection.signals
    .filter((signal) => !known.has(identityOf(signal)))
    .map(({ kind, payload }) => `${kind} ${JSON.stringify(payload)}`);
  const problem = failed ?? fresh.problem ?? sayDifference({ lost, doubled: [] });
  if (problem) found('what came later', `a new connection finds more than the next sync did: ${problem}`);
}

const identityOf = ({ kind, payload, dedupeKey }: Round['connection']['signals'][number]) =>
  dedupeKey ?? `${kind} ${JSON.stringify(payload)}`;

const upTo = (most: number) => Array.from({ length: most }, (_, i) => i + 1);
const nameOf = ({ at, n }: Stop) => `${at} ${n}`;

function plansFor(report: CrashReport, options: CrashTestOptions, random: () => number): NamedPlan[] {
  const stops = [
    ...upTo(report.requests).flatMap((n): Stop[] => [
      { at: 'before request', n },
      { at: 'after request', n },
    ]),
    ...upTo(report.pages).map((n): Stop => ({ at: 'before storing page', n })),
  ];
  const faults = upTo(report.requests).flatMap((request) =>
    faultKinds.map(
      (kind): NamedPlan => ({
        name: `request ${request} ${kind}`,
        stops: [],
        fault: { kind, request },
      }),
    ),
  );
  // A round that is asked for by its name need not be in the sample.
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

/** A second crash soon after the first, where the recovery is under way. */
function pairsOf(stops: Stop[], most: number, random: () => number): NamedPlan[] {
  const soon = stops.filter(({ n }) => n <= 3);
  const all = stops.flatMap((first) => soon.map((second) => [first, second] as const));
  return sampleOf(all, most, random).map(([first, second]) => ({
    name: `stopped ${nameOf(first)}, then ${nameOf(second)}`,
    stops: [first, second],
  }));
}

function choose(all: NamedPlan[], { only, maxRounds = defaultRounds }: CrashTestOptions, seed: number) {
  if (only === undefined) {
    const plans = sampleOf(all, maxRounds, seededRandom(seed + 1));
    return { plans, left: all.length - plans.length };
  }
  const plans = all.filter(({ name }) => name === only);
  if (plans.length === 0 && !checkNames.includes(only))
    throw new Error(
      `There is no round "${only}" with seed ${seed}; there are ${all.length}, such as "${all[0]?.name}".`,
    );
  return { plans, left: all.length - plans.length };
}

/** Rounds that are always played. */
const checkNames = ['undisturbed', 'second sync', 'another connection', 'what came later'];

function count(report: CrashReport, plan: Plan, { struck }: Round): void {
  if (struck === 0) report.unreached++;
  else if (plan.fault) report.faults++;
  else if (plan.stops.length === 1) report.crashes++;
  // The recovery may be over before it could be disturbed.
  else if (struck === 2) report.secondCrashes++;
}
