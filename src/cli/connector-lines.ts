import type { MemoryRun, MemorySignal } from '../testing/index.ts';
import { count, outputWidth, table } from './output.ts';

const maxKeyLength = 32;

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
  return key.length > maxKeyLength ? `${key.slice(0, maxKeyLength - 1)}…` : key;
}

export function runLine(n: number, { outcome, stored, absorbed, error, warning, job }: MemoryRun): string {
  const duplicates = absorbed > 0 ? `, ${count(absorbed, 'duplicate')}` : '';
  const result =
    outcome === 'succeeded'
      ? `${count(stored, 'new signal')}${duplicates}`
      : `${error?.kind}: ${error?.message}`;
  const type = job.type === 'incremental' ? '' : ` (${job.type} sync)`;
  return `page ${n}${type}: ${result}${warning ? `; ${warning}` : ''}`;
}

export function nextLine(run: MemoryRun, nowMs: number): string {
  const { outcome, error, next } = run;
  const wait = next?.notBefore ? Math.max(0, Math.ceil((next.notBefore.getTime() - nowMs) / 1000)) : 0;
  const delay = wait === 0 ? 'immediately' : `in ${wait} s`;
  const why = error?.kind === 'rate_limited' ? 'rate limited' : error?.message;
  if (outcome === 'requeued') return `The engine would retry in ${wait} s: ${why}`;
  if (error?.kind === 'cursor_expired')
    return `The engine would start a full sync ${delay}: the cursor has expired.`;
  if (error?.kind === 'unauthorized')
    return (
      'The engine would set the connection to needs_auth: the connection runs again after its credential is ' +
      'replaced or the connection is resumed.'
    );
  if (error) return 'The engine would fail the job; the next run starts at its regular time.';
  return next
    ? `The engine would run the next page ${delay}${wait === 0 ? '' : ', as the connector requests'}.`
    : 'The engine would sync the connection again after its interval, from this cursor.';
}

export function cursorLine(cursor: unknown): string {
  return cursor === undefined ? 'Cursor: none.' : `Cursor: ${JSON.stringify(cursor)}`;
}
