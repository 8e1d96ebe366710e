import type { Connector } from '../contract/connector.ts';
import { systemPorts } from '../platform/ports.ts';
import { type FaultKind, faulty, mayEndRun } from './faults.ts';
import { connectInMemory, type MemoryConnection, type MemoryOptions, type MemoryRun } from './memory.ts';

/** Where a process dies: counted from the start, or from the crash before. */
export interface Stop {
  at: 'before request' | 'after request' | 'before storing page';
  n: number;
}

/** What happens to one sync. */
export interface Plan {
  stops: readonly Stop[];
  fault?: { kind: FaultKind; request: number };
}

/** Called anew whenever a process would have started: what the connector kept in memory is gone with the old one. */
export type ConnectorSource = () => Connector | Promise<Connector>;

export interface RoundOptions extends MemoryOptions {
  reset?: (() => void | Promise<void>) | undefined;
  meanwhile?: ((requests: number) => void | Promise<void>) | undefined;
}

export interface Round {
  connection: MemoryConnection;
  requests: number;
  pages: number;
  /** Stops and faults of the plan that were come to. */
  struck: number;
  /** What went wrong on the way, other than signals. */
  problem: string | undefined;
  /** Goes on with the same connection, undisturbed: the next sync. */
  again(): Promise<string | undefined>;
}

/** A walk that has not ended after so many runs is taken for one that never ends. */
const maxRuns = 10_000;
/** One fault is injected; a sync that fails more often than this has not recovered from it. */
const maxFailures = 10;

/** One sync from the beginning to its end, disturbed as planned and continued as the engine would. */
export async function playRound(make: ConnectorSource, options: RoundOptions, plan: Plan): Promise<Round> {
  await options.reset?.();
  const send = options.fetch ?? systemPorts.fetch;
  const stops = [...plan.stops];
  const { fault } = plan;
  let connector = await make();
  let [requests, pages, struck] = [0, 0, 0];
  let sinceStop = { requests: 0, pages: 0 };
  let dies = new AbortController();

  const isNext = (at: Stop['at'], n: number) => stops[0]?.at === at && stops[0].n === n;
  const die = () => {
    struck++;
    stops.shift();
    sinceStop = { requests: 0, pages: 0 };
    dies.abort(new Error('The process died.'));
  };
  const connection = connectInMemory(shell(connector), options);

  /** The connection outlives processes; its connector does not. */
  function shell(first: Connector): Connector {
    const sync: Connector['sync'] = (context) => connector.sync({ ...context, fetch: fetchOf(dies) });
    return Object.assign(Object.create(first) as Connector, { sync });
  }

  /** What the connector asks the provider with, in one life of its process. */
  function fetchOf(life: AbortController): typeof fetch {
    const stopAt = (at: Stop['at'], n: number) => {
      if (!life.signal.aborted && isNext(at, n)) die();
      // A connector may go on although its process is dead; nothing of that may reach the provider, or come back.
      if (life.signal.aborted) throw life.signal.reason;
    };
    return async (...request) => {
      if (life.signal.aborted) throw life.signal.reason;
      const ofRound = ++requests;
      const n = ++sinceStop.requests;
      stopAt('before request', n);
      const kind = fault?.request === ofRound ? fault.kind : undefined;
      if (kind) struck++;
      const response = kind ? await faulty(kind, () => send(...request)) : await send(...request);
      await options.meanwhile?.(ofRound);
      stopAt('after request', n);
      return response;
    };
  }

  async function walk(): Promise<string | undefined> {
    let failures = 0;
    for (let left = maxRuns; left > 0; left--) {
      dies = new AbortController();
      const isLostPage = isNext('before storing page', sinceStop.pages + 1);
      const ended = await connection.run({ abortSignal: dies.signal, lost: isLostPage });
      if (isLostPage) die();
      // The engine puts the job back, nothing of the run is there, and another process takes it.
      if (dies.signal.aborted) {
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
  // What such an answer ended may be one list of several: the run ends well, and that list is read again at its next interval.
  if (problem === undefined && fault && mayEndRun.has(fault.kind)) problem = await walk();
  return { connection, requests, pages, struck, problem, again: walk };
}

/** What is wrong with a run that failed; nothing where it may, and the sync goes on. */
function failureOf({ outcome, error, hasMore }: MemoryRun, { fault }: Plan, failures: number) {
  const said = `${error?.kind}: ${error?.message}`;
  if (failures > maxFailures) return `the sync did not recover within ${maxFailures} failures (${said})`;
  if (outcome === 'requeued' || hasMore) return undefined;
  if (fault && mayEndRun.has(fault.kind)) return undefined;
  return `the sync failed, and would not be tried again before its next interval (${said})`;
}
