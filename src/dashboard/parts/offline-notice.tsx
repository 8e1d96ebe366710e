import { now } from '../clock.ts';
import { clockTime } from '../format.ts';
import { lastPulse, liveState } from '../live.ts';
import { Icon } from './icon.tsx';

/** Pulses come every two seconds. */
const pulseTimeoutMs = 8000;

export function OfflineNotice() {
  const since = lastPulse.value;
  const isOffline = liveState.value !== 'open' && since > 0 && now.value - since > pulseTimeoutMs;
  return (
    <div role="status">
      {isOffline && (
        <p class="away">
          <Icon name="attention" /> The server is unreachable. Showing data from{' '}
          {clockTime(new Date(since).toISOString(), now.value)}. The page reconnects automatically.
        </p>
      )}
    </div>
  );
}
