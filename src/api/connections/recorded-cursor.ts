/** What an event keeps of a cursor, in bytes of JSON. The whole one is with the job that stored it. */
const maxBytes = 2048;

/** A cursor as an event keeps it: whole where it is small, else its size and how it begins. */
export function recordedCursor(cursor: unknown): unknown {
  const json = JSON.stringify(cursor ?? null);
  const bytes = Buffer.byteLength(json);
  if (bytes <= maxBytes) return cursor ?? null;
  return { $truncated: { bytes, beginning: firstBytes(json) } };
}

/** Cut between characters: half of one could not be stored. */
function firstBytes(text: string): string {
  return new TextDecoder().decode(Buffer.from(text).subarray(0, maxBytes), { stream: true });
}
