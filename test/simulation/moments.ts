import type { Engine } from './engine.ts';
import { die } from './fleet.ts';
import type { Random } from './random.ts';
import type { Simulation } from './simulation.ts';

/** What an engine is about to do when it hurts most. */
type Moment =
  | 'a commit begins'
  | 'something else begins'
  | 'a commit takes its locks'
  | 'a commit is half written'
  | 'a claim is half written'
  | 'a claim is committed'
  | 'a tick is half written';

/** How many times as likely something is then as before any other step: mishaps at random seldom meet these moments. */
const odds: Readonly<Record<Moment, Partial<Record<'crash' | 'pause', number>>>> = {
  // Within a transaction the server loses its patience before a lease is over; before its beginning nobody does.
  'a commit begins': { pause: 24 },
  'something else begins': { pause: 3 },
  'a commit takes its locks': { pause: 4 },
  'a commit is half written': { crash: 8 },
  'a claim is half written': { crash: 4, pause: 8 },
  'a claim is committed': { crash: 8 },
  'a tick is half written': { crash: 8 },
};

/** As `commit` begins its transaction: impatient, without triggers, and durable. */
const commitBegins = /^BEGIN(?!.*synchronous_commit).*'syncline\.triggers', 'off'.*'lock_timeout', '1000'/;

function momentOf({ wire }: Simulation, { owner }: Engine, kind: string, text: string): Moment | undefined {
  switch (kind) {
    case 'begin':
      return commitBegins.test(text) ? 'a commit begins' : 'something else begins';
    case 'lock connections':
      return 'a commit takes its locks';
    case 'settle jobs':
      return 'a commit is half written';
    case 'mark running':
      return 'a claim is half written';
    case 'commit': {
      const mine = wire.sessions().filter((session) => session.owner === owner && session.busy === undefined);
      const isClaim = mine.some(({ transaction }) => transaction.includes('mark running'));
      return isClaim ? 'a claim is committed' : undefined;
    }
    case 'patch sync':
      return 'a tick is half written';
    default:
      return undefined;
  }
}

/** Draws whether something befalls an engine just before it sends a statement; it happens after the step under way. */
export function atStatement(
  simulation: Simulation,
  engine: Engine,
  { kind, text }: { kind: string; text: string },
  random: Random,
): void {
  const { mood, looks } = simulation;
  const moment = momentOf(simulation, engine, kind, text);
  const { crash: dies = 0, pause: sleeps = 0 } = moment ? odds[moment] : {};
  if (random.chance(mood.mishaps.crash * dies))
    looks.push(async () => {
      if (!engine.isDead) await die(simulation, engine);
    });
  else if (random.chance(mood.mishaps.pause * sleeps))
    looks.push(async () => {
      if (engine.isDead || engine.isStopping) return;
      if (moment === 'a commit begins' && random.chance(0.35))
        return sleepOverLease(simulation, engine, random);
      sleepPastLease(simulation, engine, moment === 'a commit begins');
    });
  else if (kind === 'write connections' && isDrowsy(simulation, engine) && random.chance(0.5))
    looks.push(async () => nodOff(simulation, engine, random));
}

/** A process that was away finds its timers and its answers all at once. For a while the timers come last, as they may. */
const drowsyMs = 3000;

export const isDrowsy = ({ clock }: Simulation, { pausedUntilMs }: { pausedUntilMs: number }) =>
  pausedUntilMs > 0 && clock.nowMs < pausedUntilMs + drowsyMs;

const leaseMsOf = ({ config }: Simulation) => config.executor.leaseSeconds * 1000;

/** Stands still until its lease is over and somebody else has claimed something: anything, or just what it still holds. */
export function sleepPastLease(simulation: Simulation, engine: Engine, untilItsOwn = false): void {
  const { clock, stage, trace, watcher } = simulation;
  const leaseMs = leaseMsOf(simulation);
  engine.wakesAfterMs = clock.nowMs + leaseMs;
  engine.wakesFor = untilItsOwn ? simulation.claimedBy(engine) : undefined;
  engine.pausedUntilMs = clock.nowMs + leaseMs * 5;
  if (stage.isCalling(engine, 'fetches'))
    watcher.note('a process slept past its lease with a page in its hands');
  trace.step(`${engine.name} stands still past its lease`);
}

/** Wakes up at about the time when others may find out that its lease is over. */
function sleepOverLease(simulation: Simulation, engine: Engine, random: Random): void {
  engine.pausedUntilMs =
    simulation.clock.nowMs + Math.ceil(leaseMsOf(simulation) * (0.8 + 0.3 * random.next()));
  simulation.trace.step(`${engine.name} stands still until its lease is nearly over`);
}

/** Short enough that the server is patient. */
function nodOff({ clock, trace }: Simulation, engine: Engine, random: Random): void {
  if (engine.isDead) return;
  engine.pausedUntilMs = clock.nowMs + random.whole(2000, 4500);
  trace.step(`${engine.name} nods off again`);
}
