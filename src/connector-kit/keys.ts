import { createHash } from 'node:crypto';
import { isObject } from '../values/is-object.ts';

/** The same for the same content, whatever the order of its keys. Short: it tells versions of one item apart, not items. */
export function contentHash(value: unknown): string {
  return createHash('sha256').update(canonical(value)).digest('base64url').slice(0, 16);
}

/**
 * A dedupe key for one version of an item. The time alone is not enough: providers tell it in seconds, and an item that
 * changes twice in one would keep its first version for ever.
 */
export function versionKey(item: string, version: string, content: unknown): string {
  return `${item}@${version}#${contentHash(content)}`;
}

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) => (isObject(inner) ? sorted(inner) : inner)) ?? 'null';
}

const sorted = (value: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
