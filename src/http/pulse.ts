import type { View } from '../api/index.ts';
import { systemPorts } from '../platform/ports.ts';

/** How busy things are right now. */
interface Pulse {
  at: string;
  last_minute: { succeeded: number; failed: number; retried: number; signals: number };
  /** Null for a tenant, who does not see the queue. */
  running: number | null;
}

export interface Pulses {
  of(view: View): Promise<Pulse>;
}

/** Takes one pulse at a time for everybody who may see the same, however many listen. */
export function createPulses(freshMs: number): Pulses {
  const latest = new Map<string, { atMs: number; pulse: Promise<Pulse> }>();
  return {
    of(view) {
      const scope = view.who.tenantId ?? '';
      const nowMs = systemPorts.monotonicMs();
      const known = latest.get(scope);
      if (known && nowMs - known.atMs < freshMs) return known.pulse;
      for (const [other, { atMs }] of latest) if (nowMs - atMs > 10 * freshMs) latest.delete(other);
      const pulse = take(view);
      latest.set(scope, { atMs: nowMs, pulse });
      return pulse;
    },
  };
}

async function take(view: View): Promise<Pulse> {
  const [overview, series] = await Promise.all([view.stats.overview(), view.stats.series({ minutes: 5 })]);
  const sinceMs = overview.now.getTime() - 60_000;
  const total = { succeeded: 0, failed: 0, retried: 0, signals: 0 };
  // The points of the last minute: the one under way and, where they are a minute long, the one before.
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
