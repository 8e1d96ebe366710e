import type { Engine } from './engine.ts';
import { crashEngine } from './fleet.ts';
import type { Random } from './random.ts';
import type { Simulation } from './simulation.ts';

type Moment =
  | 'a commit begins'
  | 'something else begins'
  | 'a commit takes its locks'
  | 'a commit is half written'
  | 'a claim is half written'
  | 'a claim is committed'
  | 'a tick is half written';

/** Multiplies fault probabilities at critical statements, which random faults seldom hit. */
const factors: Readonly<Record<Moment, Partial<Record<'crash' | 'pause', number>>>> = {
  // Only before BEGIN can a pause exceed a lease: a transaction has an idle timeout.
  'a commit begins': { pause: 24 },
  'something else begins': { pause: 3 },
  'a commit takes its locks': { pause: 4 },
  'a commit is half written': { crash: 8 },
  'a claim is half written': { crash: 4, pause: 8 },
  'a claim is committed': { crash: 8 },
  'a tick is half written': { crash: 8 },
};

/** The BEGIN of the pipeline's commit: lock timeout, triggers off, synchronous commit. */
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
      const idle = wire.sessions().filter((session) => session.owner === owner && session.busy === undefined);
      const isClaim = idle.some(({ transaction }) => transaction.includes('mark running'));
      return isClaim ? 'a claim is committed' : undefined;
    }
    case 'patch sync':
      return 'a tick is half written';
    default:
      return undefined;
  }
}

/** The faults take effect after the current step. */
export function injectAtStatement(
  simulation: Simulation,
  engine: Engine,
  { kind, text }: { kind: string; text: string },
  random: Random,
): void {
  const { profile, afterStep } = simulation;
  const moment = momentOf(simulation, engine, kind, text);
  const { crash: crashFactor = 0, pause: pauseFactor = 0 } = moment ? factors[moment] : {};
  if (random.chance(profile.stepFaults.crash * crashFactor))
    afterStep.push(async () => {
      if (!engine.isDead) await crashEngine(simulation, engine);
    });
  else if (random.chance(profile.stepFaults.pause * pauseFactor))
    afterStep.push(async () => {
      if (engine.isDead || engine.isStopping) return;
      if (moment === 'a commit begins' && random.chance(0.35))
        return pauseNearLeaseEnd(simulation, engine, random);
      pausePastLease(simulation, engine, moment === 'a commit begins');
    });
  else if (kind === 'write connections' && delaysTimers(simulation, engine) && random.chance(0.5))
    afterStep.push(async () => pauseBriefly(simulation, engine, random));
}

/** After a pause, timers and responses are due together. For this long, responses are preferred. */
const timerDelayMs = 3000;

export const delaysTimers = ({ clock }: Simulation, { pausedUntilMs }: { pausedUntilMs: number }) =>
  pausedUntilMs > 0 && clock.nowMs < pausedUntilMs + timerDelayMs;

const leaseMsOf = ({ config }: Simulation) => config.executor.leaseSeconds * 1000;

/**
 * Pauses until the lease has expired and another process claims a job (`untilOwnJob`: one of this engine).
 */
export function pausePastLease(simulation: Simulation, engine: Engine, untilOwnJob = false): void {
  const { clock, stepScheduler, trace, recorder } = simulation;
  const leaseMs = leaseMsOf(simulation);
  engine.wakesAfterMs = clock.nowMs + leaseMs;
  engine.wakesFor = untilOwnJob ? simulation.claimedBy(engine) : undefined;
  engine.pausedUntilMs = clock.nowMs + leaseMs * 5;
  if (stepScheduler.isCalling(engine, 'fetches'))
    recorder.note('a process paused past its lease during a provider call');
  trace.step(`${engine.name} pauses past its lease`);
}

/** Resumes at about the time when others detect that its lease has expired. */
function pauseNearLeaseEnd(simulation: Simulation, engine: Engine, random: Random): void {
  engine.pausedUntilMs =
    simulation.clock.nowMs + Math.ceil(leaseMsOf(simulation) * (0.8 + 0.3 * random.next()));
  simulation.trace.step(`${engine.name} pauses until its lease is about to expire`);
}

/** Shorter than the idle timeout of the transaction. */
function pauseBriefly({ clock, trace }: Simulation, engine: Engine, random: Random): void {
  if (engine.isDead) return;
  engine.pausedUntilMs = clock.nowMs + random.integer(2000, 4500);
  trace.step(`${engine.name} pauses again`);
}
