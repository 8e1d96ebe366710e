import { now } from '../clock.ts';
import { clockTime, countdown, relative, timeOf } from '../format.ts';

type When = { at: string | null | undefined };

export function Ago({ at }: When) {
  if (timeOf(at) === undefined) return <span class="faint">–</span>;
  return (
    <time dateTime={at ?? ''} title={at ?? ''}>
      {relative(at, now.value)}
    </time>
  );
}

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
  // peek(): the text changes only at midnight.
  return (
    <time class="num" dateTime={at ?? ''} title={at ?? ''}>
      {clockTime(at, now.peek())}
    </time>
  );
}
