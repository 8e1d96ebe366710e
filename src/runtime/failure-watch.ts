import type { Ports } from '../platform/ports.ts';
import { isPermanent } from '../store/database-errors.ts';
import type { Telemetry } from '../telemetry/index.ts';

const maxOutageMs = 120_000;
/** A longer gap starts a new outage. */
const outageGapMs = 45_000;

/**
 * `hopeless` resolves with an error that no retry fixes (missing grant, table, login), or after
 * `maxOutageMs`.
 */
export function watchFailures(
  telemetry: Telemetry,
  { monotonicMs }: Pick<Ports, 'monotonicMs'>,
): { telemetry: Telemetry; hopeless: Promise<{ error: unknown }> } {
  let outage: { sinceMs: number; lastMs: number } | undefined;
  let giveUp = (_: { error: unknown }) => {};
  const hopeless = new Promise<{ error: unknown }>((resolve) => {
    giveUp = resolve;
  });

  function isOutageTooLong(): boolean {
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
        if (isPermanent(error) || (role === 'heartbeat' && isOutageTooLong())) giveUp({ error });
      },
    },
  };
}
