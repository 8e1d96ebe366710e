import type { Logger } from 'pino';
import { rateLimitOf } from '../config/rate-limits.ts';
import type { Connector } from '../contract/connector.ts';
import { describeError, TransientError } from '../contract/errors.ts';
import type { LogLine } from '../store/attempts.ts';
import type { SecretRedactor } from '../values/redact.ts';
import type { ClaimedJob, ExecutorContext } from './claim.ts';
import type { Settlement } from './commit.ts';
import type { RunEvents } from './events.ts';
import { judge, type Verdict } from './judge.ts';
import { type RunEnd, run } from './run.ts';
import type { RunAbort } from './run-abort.ts';

/** In a slot of its executor (`runtime/slots.ts`). */
export interface HeldRun {
  readonly job: ClaimedJob;
  readonly abort: RunAbort;
  readonly log: { logger(): Logger; lines(): LogLine[] | undefined };
  readonly redactor: SecretRedactor;
  isHeld(): boolean;
  /** `syncing` until the connector returns. */
  state: 'syncing' | 'storing';
}

export interface Stored {
  /** Failed, if Postgres rejected the result. */
  verdict: Verdict;
  signals: number;
  hasFollowUps: boolean;
}

export interface SyncJobContext extends Pick<ExecutorContext, 'rateLimit' | 'ports' | 'resources'> {
  connectors: ReadonlyMap<string, Connector>;
  telemetry: RunEvents;
  /** `runtime/commit-queue.ts`. */
  commits: { add(settlement: Settlement): Promise<Stored | undefined> };
}

/** Undefined: the claim was lost, nothing is stored. */
export async function syncJob(held: HeldRun, context: SyncJobContext): Promise<Stored | undefined> {
  const { job, abort, log, redactor } = held;
  const { connectors, resources, commits } = context;
  const connector = connectors.get(job.providerSlug) as Connector;
  const end = await run(job, connector, { abort, log: log.logger, resources, redactor });
  const settlement = settle(held, end, context);
  return settlement && commits.add(settlement);
}

function settle(held: HeldRun, end: RunEnd, context: SyncJobContext): Settlement | undefined {
  if (!held.isHeld()) return undefined;
  try {
    return settlementOf(held, end, context);
  } catch (error) {
    // Unforeseen results are failures.
    return settlementOf(held, { error: unprocessable(error) }, context);
  }
}

function settlementOf(held: HeldRun, end: RunEnd, context: SyncJobContext): Settlement {
  const { job, log, redactor } = held;
  const { ports, rateLimit, telemetry } = context;
  const policy = rateLimitOf(rateLimit, job.providerSlug);
  const verdictOn = (judged: RunEnd) =>
    judge(job, judged, { policy, nowMs: ports.now(), random: ports.random(), redact: redactor.redact });
  const verdict = verdictOn(end);
  telemetry.runEnded(job, end, verdict, redactor.redact);
  held.state = 'storing';
  return { job, verdict, log: log.lines(), ifRejected: (error) => verdictOn({ error: rejected(error) }) };
}

const unprocessable = (error: unknown) =>
  new TransientError(
    `The connector's result could not be processed: ${error instanceof Error ? error.message : 'unreadable'}`,
  );

const rejected = (error: unknown) =>
  new TransientError(`Postgres rejected the result of the run: ${describeError(error)}`);
