import type { SynclineApi, Totals } from '../index.ts';

interface Pulse {
  at: string;
  last_minute: Totals;
  running: number | null;
}

export interface Pulses {
  get(view: SynclineApi): Promise<Pulse>;
}

export function createPulses(freshMs: number, monotonicMs: () => number): Pulses {
  const latest = new Map<string, { atMs: number; isPending: boolean; pulse: Promise<Pulse> }>();
  return {
    get(view) {
      const scope = view.caller.tenantId ?? '';
      const nowMs = monotonicMs();
      const cached = latest.get(scope);
      // A slow database gets one query at a time.
      if (cached && (cached.isPending || nowMs - cached.atMs < freshMs)) return cached.pulse;
      for (const [other, { atMs }] of latest) if (nowMs - atMs > 10 * freshMs) latest.delete(other);
      const entry = { atMs: nowMs, isPending: true, pulse: queryPulse(view) };
      const settle = () => {
        entry.isPending = false;
      };
      entry.pulse.then(settle, settle);
      latest.set(scope, entry);
      return entry.pulse;
    },
  };
}

async function queryPulse(view: SynclineApi): Promise<Pulse> {
  const [overview, series] = await Promise.all([view.stats.overview(), view.stats.series({ minutes: 5 })]);
  const sinceMs = overview.now.getTime() - 60_000;
  const total: Totals = { succeeded: 0, failed: 0, retried: 0, signals: 0 };
  // Points that overlap the last minute.
  for (const point of series.points.filter(({ at }) => at.getTime() + series.stepSeconds * 1000 > sinceMs)) {
    total.succeeded += point.succeeded;
    total.failed += point.failed;
    total.retried += point.retried;
    total.signals += point.signals;
  }
  return {
    at: overview.now.toISOString(),
    last_minute: total,
    running: overview.queue?.running.count ?? null,
  };
}
