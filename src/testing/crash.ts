import type { Connector } from '../connector.ts';
import { systemPorts } from '../ports.ts';
import { connectInMemory, type MemoryConnection, type MemoryOptions } from './memory.ts';

export interface CrashTestOptions extends MemoryOptions {
  /** Puts the provider back to where it was: called before every round, so that all of them see the same. */
  reset?: (() => void | Promise<void>) | undefined;
  /** What happens at the provider after so many requests of a round: an edit in the middle of a walk, for example. */
  meanwhile?: ((requests: number) => void | Promise<void>) | undefined;
}

export interface CrashReport {
  /** Requests and pages of an undisturbed sync. */
  requests: number;
  pages: number;
  /** How often it was stopped: before and after every request, and after every page. */
  crashes: number;
  signals: number;
}

/** Where a round is stopped. */
type Point = { at: 'before request' | 'after request' | 'before storing page'; n: number };

const mostRuns = 10_000;

/**
 * Syncs again and again, each time stopped at another place as if the process had died there: before each request, when
 * its answer is there, and before each page is stored. Then it goes on as the engine would, and what is stored in the end
 * must be what an undisturbed sync stores: nothing lost, nothing doubled. Throws where it is not.
 */
export async function crashTest(connector: Connector, options: CrashTestOptions = {}): Promise<CrashReport> {
  const whole = await round(connector, options);
  const wanted = countOf(whole.connection);
  const points = pointsOf(whole);
  for (const point of points) {
    const { connection, wasStopped } = await round(connector, options, point);
    if (!wasStopped)
      throw new Error(
        `The sync no longer comes to ${nameOf(point)}: does the provider start each round the same?`,
      );
    const problem = difference(wanted, countOf(connection));
    if (problem) throw new Error(`Stopped ${nameOf(point)}, then continued: ${problem}`);
  }
  const { requests, pages, connection } = whole;
  return { requests, pages, crashes: points.length, signals: connection.signals.length };
}

interface Round {
  connection: MemoryConnection;
  requests: number;
  pages: number;
  wasStopped: boolean;
}

async function round(connector: Connector, options: CrashTestOptions, point?: Point): Promise<Round> {
  await options.reset?.();
  const send = options.fetch ?? systemPorts.fetch;
  let requests = 0;
  let pages = 0;
  let wasStopped = false;
  let dies = new AbortController();
  const stop = () => {
    wasStopped = true;
    dies.abort(new Error('The process died.'));
    throw dies.signal.reason;
  };
  const connection = connectInMemory(connector, {
    ...options,
    fetch: async (...request) => {
      const n = ++requests;
      if (point?.at === 'before request' && point.n === n) stop();
      const response = await send(...request);
      await options.meanwhile?.(n);
      if (point?.at === 'after request' && point.n === n) stop();
      return response;
    },
  });
  for (let left = mostRuns; left > 0; left--) {
    dies = new AbortController();
    const isLostPage = point?.at === 'before storing page' && point.n === pages + 1 && !wasStopped;
    const ended = await connection.run({ abortSignal: dies.signal, lost: isLostPage });
    if (isLostPage) {
      wasStopped = true;
      continue;
    }
    // Stopped within the run: the engine puts the job back, and nothing of the run is there.
    if (dies.signal.aborted) continue;
    if (ended.outcome !== 'succeeded')
      throw new Error(`The sync failed${point ? `, stopped ${nameOf(point)}` : ''}: ${ended.error?.message}`);
    pages++;
    if (!ended.hasMore) return { connection, requests, pages, wasStopped };
  }
  throw new Error(`The walk did not end within ${mostRuns} runs.`);
}

function pointsOf({ requests, pages }: Round): Point[] {
  const upTo = (most: number) => Array.from({ length: most }, (_, i) => i + 1);
  return [
    ...upTo(requests).flatMap((n): Point[] => [
      { at: 'before request', n },
      { at: 'after request', n },
    ]),
    ...upTo(pages).map((n): Point => ({ at: 'before storing page', n })),
  ];
}

const nameOf = ({ at, n }: Point) => `${at} ${n}`;

/** How often each signal is there, by what it says. */
function countOf({ signals }: MemoryConnection): Map<string, number> {
  const counts = new Map<string, number>();
  for (const { kind, payload } of signals) {
    const shown = `${kind} ${JSON.stringify(payload)}`;
    counts.set(shown, (counts.get(shown) ?? 0) + 1);
  }
  return counts;
}

function difference(wanted: Map<string, number>, found: Map<string, number>): string | undefined {
  const lost = [...wanted].filter(([shown, n]) => (found.get(shown) ?? 0) < n).map(([shown]) => shown);
  const doubled = [...found].filter(([shown, n]) => (wanted.get(shown) ?? 0) < n).map(([shown]) => shown);
  if (lost.length === 0 && doubled.length === 0) return undefined;
  const sample = (signals: string[]) =>
    signals
      .slice(0, 3)
      .map((shown) => shown.slice(0, 200))
      .join(', ');
  return [
    lost.length > 0 && `${lost.length} signals lost, such as ${sample(lost)}`,
    doubled.length > 0 && `${doubled.length} signals doubled or unexpected, such as ${sample(doubled)}`,
  ]
    .filter(Boolean)
    .join('; ');
}
