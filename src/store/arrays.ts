/**
 * The driver's own formatter takes a fifth of the time of a placement. It still formats other element
 * types.
 */
export function arrayText(values: readonly unknown[]): string | readonly unknown[] {
  let text = '{';
  for (let i = 0; i < values.length; i++) {
    const element = elementText(values[i]);
    if (element === undefined) return values;
    text += i === 0 ? element : `,${element}`;
  }
  return `${text}}`;
}

function elementText(value: unknown): string | undefined {
  if (value === null || value === undefined) return 'NULL';
  if (typeof value === 'string') return quoted(value);
  if (typeof value === 'number' || typeof value === 'boolean') return String(value);
  return value instanceof Date ? instantText(value) : undefined;
}

/** Ids need no quotes; words do, because of NULL. */
const plain = /^\d[\w-]*$/;
const special = /["\\]/g;

const quoted = (text: string) => (plain.test(text) ? text : `"${text.replace(special, '\\$&')}"`);

/** Other years have more digits, or are BC. */
function instantText(at: Date): string | undefined {
  const year = at.getUTCFullYear();
  return year >= 1 && year <= 9999 ? `"${at.toISOString()}"` : undefined;
}
