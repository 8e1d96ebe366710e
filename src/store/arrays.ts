/**
 * The driver escapes each element. Of JSON's escapes, array literals share only `\"` and `\\`; the driver
 * formats others.
 */
export function arrayText(values: readonly unknown[]): string | readonly unknown[] {
  const elements: unknown[] = [];
  for (const value of values) {
    const element = typeof value === 'object' && value !== null ? instantText(value) : value;
    if (!isSameInJson(element)) return values;
    elements.push(element);
  }
  const json = JSON.stringify(elements);
  if (json.includes('\\') && elements.some(hasOtherEscapes)) return values;
  return `{${json.slice(1, -1)}}`;
}

/** Other years have more digits, or are BC. */
function instantText(value: object): unknown {
  if (!(value instanceof Date)) return value;
  const year = value.getUTCFullYear();
  return year >= 1 && year <= 9999 ? value.toISOString() : value;
}

function isSameInJson(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  return typeof value === 'string' || typeof value === 'boolean' || value === null || value === undefined;
}

/** Control characters and lone surrogates. */
const otherEscapes = /[\p{Cc}\p{Cs}]/u;

const hasOtherEscapes = (value: unknown) => typeof value === 'string' && otherEscapes.test(value);
