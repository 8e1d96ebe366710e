import { createHash } from 'node:crypto';
import { isObject } from '../values/is-object.ts';

/** Independent of key order. 96 bits: for versions of one item, not for items. */
export function contentHash(value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest('base64url').slice(0, 16);
}

/** One key per version; the content hash separates changes within a second. */
export function versionKey(item: string, version: string, content: unknown): string {
  return `${item}@${version}#${contentHash(content)}`;
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => (isObject(inner) ? sorted(inner) : inner)) ?? 'null';
}

const sorted = (value: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
