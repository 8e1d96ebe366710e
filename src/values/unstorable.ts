/** What Postgres cannot store as text or JSON, found before it gets there. */

/** Deeper JSON is no configuration and no cursor, and would exhaust the stack of whoever walks through it. */
const deepest = 100;

export interface Unstorable {
  /** Where in the value: `config.name`, `cursor[3]`. */
  path: string;
  message: string;
}

/** The first thing in a parsed JSON value that cannot be stored, if there is one. */
export function findUnstorable(value: unknown, path = '', depth = 0): Unstorable | undefined {
  if (typeof value === 'string') return textProblem(value, path);
  if (typeof value === 'number' && !Number.isFinite(value))
    return { path, message: 'is a number that is too large' };
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth >= deepest) return { path, message: `is nested deeper than ${deepest} levels` };
  for (const [key, inner] of Object.entries(value)) {
    const innerPath = Array.isArray(value) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
    const found = textProblem(key, innerPath) ?? findUnstorable(inner, innerPath, depth + 1);
    if (found) return found;
  }
  return undefined;
}

function textProblem(text: string, path: string): Unstorable | undefined {
  if (text.includes('\0')) return { path, message: 'contains the character NUL, which cannot be stored' };
  if (/\p{Surrogate}/u.test(text))
    return { path, message: 'contains half of a surrogate pair, which is no character' };
  return undefined;
}
