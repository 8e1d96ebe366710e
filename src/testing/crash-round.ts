import type { Connector } from '../contract/connector.ts';
import { type FaultKind, faulty, mayEndRun } from './faults.ts';
import { connectInMemory, type MemoryConnection, type MemoryOptions, type MemoryRun } from './memory.ts';

/** From the start or previous crash. */
export interface Stop {
  at: 'before request' | 'after request' | 'before storing page';
  n: number;
}

export interface Plan {
  stops: readonly Stop[];
  fault?: { kind: FaultKind; request: number };
}

/** Called per simulated process, which has no memory. */
export type ConnectorSource = () => Connector | Promise<Connector>;

export interface RoundOptions extends MemoryOptions {
  reset?: (() => void | Promise<void>) | undefined;
  meanwhile?: ((requests: number) => void | Promise<void>) | undefined;
}

export interface Round {
  connection: MemoryConnection;
  requests: number;
  pages: number;
  /** Crashes and faults that occurred. */
  hits: number;
  /** Other than missing or duplicate signals. */
  problem: string | undefined;
  again(): Promise<string | undefined>;
}

const maxRuns = 10_000;
/** More failures than the injected fault: no recovery. */
const maxFailures = 10;

export async function playRound(make: ConnectorSource, options: RoundOptions, plan: Plan): Promise<Round> {
  await options.reset?.();
  const stops = [...plan.stops];
  const { fault } = plan;
  let connector = await make();
  let [requests, pages, hits] = [0, 0, 0];
  let sinceStop = { requests: 0, pages: 0 };
  let lifetime = new AbortController();

  const isNextStop = (at: Stop['at'], n: number) => stops[0]?.at === at && stops[0].n === n;
  const crash = () => {
    hits++;
    stops.shift();
    sinceStop = { requests: 0, pages: 0 };
    lifetime.abort(new Error('The process died.'));
  };
  const connection = connectInMemory(wrap(connector), options);

  /** Only the connection survives a crash. */
  function wrap(first: Connector): Connector {
    const sync: Connector['sync'] = (context) =>
      connector.sync({ ...context, fetch: fetchOf(lifetime, context.fetch) });
    return Object.assign(Object.create(first) as Connector, { sync });
  }

  function fetchOf(processLifetime: AbortController, send: typeof fetch): typeof fetch {
    const stopAt = (at: Stop['at'], n: number) => {
      if (!processLifetime.signal.aborted && isNextStop(at, n)) crash();
      // Connector code may run on after a crash: block it.
      if (processLifetime.signal.aborted) throw processLifetime.signal.reason;
    };
    return async (...request) => {
      if (processLifetime.signal.aborted) throw processLifetime.signal.reason;
      const ofRound = ++requests;
      const n = ++sinceStop.requests;
      stopAt('before request', n);
      const kind = fault?.request === ofRound ? fault.kind : undefined;
      if (kind) hits++;
      const response = kind ? await faulty(kind, () => send(...request)) : await send(...request);
      await options.meanwhile?.(ofRound);
      stopAt('after request', n);
      return response;
    };
  }

  async function walk(): Promise<string | undefined> {
    let failures = 0;
    for (let left = maxRuns; left > 0; left--) {
      lifetime = new AbortController();
      const isLostPage = isNextStop('before storing page', sinceStop.pages + 1);
      const ended = await connection.run({ abortSignal: lifetime.signal, lost: isLostPage });
      if (isLostPage) crash();
      // Another process claims the job.
      if (lifetime.signal.aborted) {
        connector = await make();
        continue;
      }
      if (ended.outcome === 'succeeded') {
        pages++;
        sinceStop.pages++;
        if (!ended.hasMore) return undefined;
        continue;
      }
      const problem = failureOf(ended, plan, ++failures);
      if (problem) return problem;
    }
    return `the walk did not end within ${maxRuns} runs`;
  }

  let problem = await walk();
  // If one of several streams failed, the run succeeds and the next run reads it.
  if (problem === undefined && fault && mayEndRun.has(fault.kind)) problem = await walk();
  return { connection, requests, pages, hits, problem, again: walk };
}

/** Undefined if expected; the sync continues. */
function failureOf({ outcome, error, hasMore }: MemoryRun, { fault }: Plan, failures: number) {
  const reason = `${error?.kind}: ${error?.message}`;
  if (failures > maxFailures) return `the sync did not recover within ${maxFailures} failures (${reason})`;
  if (outcome === 'requeued' || hasMore) return undefined;
  if (fault && mayEndRun.has(fault.kind)) return undefined;
  return `the sync failed and is not retried before its next interval (${reason})`;
}
