import { maxDepth } from './limits.ts';

export interface Unstorable {
  /** Such as `config.name` or `cursor[3]`. */
  path: string;
  message: string;
}

export function findUnstorable(value: unknown, path = '', depth = 0): Unstorable | undefined {
  if (typeof value === 'string') return textProblem(value, path);
  if (typeof value === 'number' && !Number.isFinite(value))
    return { path, message: 'is a number that is too large' };
  if (typeof value !== 'object' || value === null) return undefined;
  if (depth >= maxDepth.argument)
    return { path, message: `is nested deeper than ${maxDepth.argument} levels` };
  for (const [key, inner] of Object.entries(value)) {
    const innerPath = Array.isArray(value) ? `${path}[${key}]` : path === '' ? key : `${path}.${key}`;
    const found = textProblem(key, innerPath) ?? findUnstorable(inner, innerPath, depth + 1);
    if (found) return found;
  }
  return undefined;
}

function textProblem(text: string, path: string): Unstorable | undefined {
  if (text.includes('\0')) return { path, message: 'contains a NUL character' };
  if (/\p{Surrogate}/u.test(text)) return { path, message: 'contains half of a surrogate pair' };
  return undefined;
}
