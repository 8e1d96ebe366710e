const stringOrLongInteger = /"(?:[^"\\]|\\.)*"|-?\d{16,}(?![\d.eE])/g;
const mayHoldLongInteger = /\d{16}/;

/** Integers beyond 2^53 reach `convert` as digits: keys stay distinct. */
export function parseExactly(json: string, convert: (digits: string) => unknown): unknown {
  if (!mayHoldLongInteger.test(json)) return JSON.parse(json);
  const converted = json.replaceAll(stringOrLongInteger, (token) =>
    token.startsWith('"') || Number.isSafeInteger(Number(token)) ? token : JSON.stringify(convert(token)),
  );
  return JSON.parse(converted);
}

export const asMark = (digits: string) => ({ $integer: digits });

const mark = /\{"\$integer":"(-?\d+)"\}/g;

export const writeExactly = (value: unknown): string => JSON.stringify(value).replaceAll(mark, '$1');
