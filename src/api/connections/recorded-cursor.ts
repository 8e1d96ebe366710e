import { maxEventCursorBytes } from '../../values/limits.ts';

/** A cursor for an event: complete if small, else its size and first bytes. */
export function recordedCursor(cursor: unknown): unknown {
  const json = JSON.stringify(cursor ?? null);
  const bytes = Buffer.byteLength(json);
  if (bytes <= maxEventCursorBytes) return cursor ?? null;
  return { $truncated: { bytes, beginning: firstBytes(json) } };
}

/** Cuts at a character boundary; Postgres rejects partial characters. */
function firstBytes(text: string): string {
  return new TextDecoder().decode(Buffer.from(text).subarray(0, maxEventCursorBytes), { stream: true });
}
