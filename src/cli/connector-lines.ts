import type { MemoryRun, MemorySignal } from '../testing/index.ts';
import { count, outputWidth, table } from './output.ts';

/** How what a connector found is shown to people. */

/** A key says little beyond this, and the payload needs the room. */
const widestKey = 32;

export function signalLines(signals: readonly MemorySignal[]): string[] {
  if (signals.length === 0) return [];
  const rows = signals.map(({ occurredAt, kind, dedupeKey, payload }) => [
    occurredAt.replace('.000Z', 'Z'),
    kind,
    shortKey(dedupeKey),
    JSON.stringify(payload),
  ]);
  return table([['occurred', 'kind', 'key', 'payload'], ...rows], { width: outputWidth() });
}

function shortKey(key: string | null): string {
  if (key === null) return '-';
  return key.length > widestKey ? `${key.slice(0, widestKey - 1)}…` : key;
}

export function runLine(n: number, { outcome, stored, absorbed, error, warning, job }: MemoryRun): string {
  const known = absorbed > 0 ? `, ${count(absorbed, 'signal')} known already` : '';
  const end =
    outcome === 'succeeded' ? `${count(stored, 'new signal')}${known}` : `${error?.kind}: ${error?.message}`;
  const type = job.type === 'incremental' ? '' : ` (${job.type} sync)`;
  return `page ${n}${type}: ${end}${warning ? `; ${warning}` : ''}`;
}

/** What the engine would do after the last run. */
export function nextLine(run: MemoryRun, nowMs: number): string {
  const { outcome, error, next } = run;
  const wait = next?.notBefore ? Math.max(0, Math.ceil((next.notBefore.getTime() - nowMs) / 1000)) : 0;
  const why = error?.kind === 'rate_limited' ? 'rate limited' : error?.message;
  if (outcome === 'requeued') return `In an engine it would be tried again in ${wait} s: ${why}`;
  if (error?.kind === 'cursor_expired')
    return `In an engine a full sync would follow ${wait === 0 ? 'at once' : `in ${wait} s`}: the cursor has expired.`;
  if (error?.kind === 'unauthorized')
    return 'In an engine the connection would need its user now (needs_auth), and run again when it is resumed.';
  if (error) return 'In an engine the job would have failed; the next run would come at its usual time.';
  return next
    ? `In an engine the next page would follow ${wait === 0 ? 'at once' : `in ${wait} s, as the provider asks`}.`
    : 'In an engine the next run would come after its interval, from this cursor.';
}

export function cursorLine(cursor: unknown): string {
  return cursor === undefined ? 'Cursor: none.' : `Cursor: ${JSON.stringify(cursor)}`;
}
