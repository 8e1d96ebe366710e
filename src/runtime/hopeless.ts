import type { Ports } from '../platform/ports.ts';
import { isPermanent } from '../store/database-errors.ts';
import type { Telemetry } from '../telemetry/index.ts';

/** How long the database may be away, or refuse every heartbeat, before a drain ends with that error. */
const maxOutageMs = 120_000;
/** Heartbeats that fail are never this far apart: one has succeeded in between. */
const outageGapMs = 45_000;

/**
 * An executor retries for ever, which is right for a service. A drain has to end: `hopeless` resolves with the error that no retry
 * resolves (a missing grant, table or login), or with that of an outage that lasts too long.
 */
export function watchFailures(
  telemetry: Telemetry,
  { monotonicMs }: Pick<Ports, 'monotonicMs'>,
): { telemetry: Telemetry; hopeless: Promise<{ error: unknown }> } {
  let outage: { sinceMs: number; lastMs: number } | undefined;
  let end = (_: { error: unknown }) => {};
  const hopeless = new Promise<{ error: unknown }>((resolve) => {
    end = resolve;
  });

  function isLasting(): boolean {
    const nowMs = monotonicMs();
    const isNew = outage === undefined || nowMs - outage.lastMs > outageGapMs;
    outage = { sinceMs: isNew || !outage ? nowMs : outage.sinceMs, lastMs: nowMs };
    return nowMs - outage.sinceMs >= maxOutageMs;
  }

  return {
    hopeless,
    telemetry: {
      ...telemetry,
      roundFailed: (role, error, retryMs) => {
        telemetry.roundFailed(role, error, retryMs);
        if (isPermanent(error) || (role === 'heartbeat' && isLasting())) end({ error });
      },
    },
  };
}
