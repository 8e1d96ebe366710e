/**
 * SCH-5: the nominal time of the next run after one that ended at `lastEndedMs`: the latest multiple of the interval that
 * is not after `nowMs`, but at least one interval on. In closed form, so that ten years of downtime cost what none does.
 */
export function nextSlot(lastEndedMs: number, baseSeconds: number, nowMs: number): number {
  const baseMs = baseSeconds * 1000;
  const intervals = Math.max(1, Math.floor((nowMs - lastEndedMs) / baseMs));
  return lastEndedMs + intervals * baseMs;
}
