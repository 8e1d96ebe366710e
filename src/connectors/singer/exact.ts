/** A string, which is left alone, or an integer of so many digits that a JavaScript number may not hold it. */
const stringOrLongInteger = /"(?:[^"\\]|\\.)*"|-?\d{16,}(?![\d.eE])/g;
const mayHoldLongInteger = /\d{16}/;

/**
 * Parses JSON without rounding. Integers beyond 2^53 become what `keep` makes of their digits: two keys that differ in
 * the last digit must not become one.
 */
export function parseExactly(json: string, keep: (digits: string) => unknown): unknown {
  if (!mayHoldLongInteger.test(json)) return JSON.parse(json);
  const kept = json.replaceAll(stringOrLongInteger, (token) =>
    token.startsWith('"') || Number.isSafeInteger(Number(token)) ? token : JSON.stringify(keep(token)),
  );
  return JSON.parse(kept);
}

/** How a long integer waits in a cursor for the tap to get it back as a number. */
export const asMark = (digits: string) => ({ $integer: digits });

const mark = /\{"\$integer":"(-?\d+)"\}/g;

/** JSON in which marks are integers again. */
export const writeExactly = (value: unknown): string => JSON.stringify(value).replaceAll(mark, '$1');
