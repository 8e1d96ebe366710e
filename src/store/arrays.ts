/**
 * A list as the text of a Postgres array. The driver can do that too, but takes every element through two regular expressions
 * and every time through its own formatter: a fifth of what a placement costs here. Whatever is not simple is left to it.
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

/** Most are ids, which need no quotes; a word may, as NULL is one. */
const plain = /^\d[\w-]*$/;
const special = /["\\]/g;

const quoted = (text: string) => (plain.test(text) ? text : `"${text.replace(special, '\\$&')}"`);

/** Other years have more digits than four, or come before the first. */
function instantText(at: Date): string | undefined {
  const year = at.getUTCFullYear();
  return year >= 1 && year <= 9999 ? `"${at.toISOString()}"` : undefined;
}
