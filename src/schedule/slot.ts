/**
 * SCH-5: the nominal time of the next run after one that ended at `lastEndedMs`: the latest multiple of the interval that
 * is not after `nowMs`, but at least one interval on. In closed form, so that ten years of downtime cost what none does.
 */
export function nextSlot(lastEndedMs: number, baseSeconds: number, nowMs: number): number {
  const baseMs = baseSeconds * 1000;
  const endedMs = believableEnd(lastEndedMs, baseMs, nowMs);
  return endedMs + Math.max(1, Math.floor((nowMs - endedMs) / baseMs)) * baseMs;
}

/**
 * Clocks differ a little, so an end may lie ahead of now. One that lies ahead by more than an interval was written by a
 * broken clock; taken at its word, it would keep the connection from ever running again.
 */
function believableEnd(lastEndedMs: number, baseMs: number, nowMs: number): number {
  return lastEndedMs > nowMs + baseMs ? nowMs : lastEndedMs;
}
