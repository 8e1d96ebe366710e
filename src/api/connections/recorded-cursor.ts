import { maxEventCursorBytes } from '../../values/limits.ts';

/** Complete if small, else its size and first bytes. */
export function recordedCursor(cursor: unknown): unknown {
  const json = JSON.stringify(cursor ?? null);
  const bytes = Buffer.byteLength(json);
  if (bytes <= maxEventCursorBytes) return cursor ?? null;
  return { $truncated: { bytes, beginning: firstBytes(json) } };
}

/** At a character boundary: Postgres rejects partial characters. */
function firstBytes(text: string): string {
  return new TextDecoder().decode(Buffer.from(text).subarray(0, maxEventCursorBytes), { stream: true });
}
