import { maxEventCursorBytes } from '../../values/limits.ts';

export function recordedCursor(cursor: unknown): unknown {
  const json = JSON.stringify(cursor ?? null);
  const bytes = Buffer.byteLength(json);
  if (bytes <= maxEventCursorBytes) return cursor ?? null;
  return { $truncated: { bytes, beginning: firstBytes(json) } };
}

/** Postgres rejects partial characters. */
function firstBytes(text: string): string {
  return new TextDecoder().decode(Buffer.from(text).subarray(0, maxEventCursorBytes), { stream: true });
}
