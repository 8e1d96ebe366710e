import { now } from '../clock.ts';
import { clockTime } from '../format.ts';
import { lastPulse, liveState } from '../live.ts';
import { Icon } from './icon.tsx';

/** The server says every two seconds that it is there. */
const quietMs = 8000;

/** Says, once for the whole page, that the server is away and how old everything is. */
export function Away() {
  const since = lastPulse.value;
  const isAway = liveState.value !== 'open' && since > 0 && now.value - since > quietMs;
  return (
    <div role="status">
      {isAway && (
        <p class="away">
          <Icon name="attention" /> The server does not answer. What is shown here is from{' '}
          {clockTime(new Date(since).toISOString(), now.value)}; it goes on by itself when the server is back.
        </p>
      )}
    </div>
  );
}
