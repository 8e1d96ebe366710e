import { now } from '../clock.ts';
import { clockTime, countdown, relative, timeOf } from '../format.ts';

type When = { at: string | null | undefined };

/** How long ago, or until when; the exact time is in the title. */
export function Ago({ at }: When) {
  if (timeOf(at) === undefined) return <span class="faint">–</span>;
  return (
    <time dateTime={at ?? ''} title={at ?? ''}>
      {relative(at, now.value)}
    </time>
  );
}

/** Ticks down to a moment. */
export function Countdown({ at }: When) {
  if (timeOf(at) === undefined) return <span class="faint">–</span>;
  return (
    <time class="num" dateTime={at ?? ''} title={at ?? ''}>
      {countdown(at, now.value)}
    </time>
  );
}

export function Clock({ at }: When) {
  if (timeOf(at) === undefined) return <span class="faint">–</span>;
  // The day is shown for other days only, and pages are not looked at over midnight: no need to tick for it.
  return (
    <time class="num" dateTime={at ?? ''} title={at ?? ''}>
      {clockTime(at, now.peek())}
    </time>
  );
}
