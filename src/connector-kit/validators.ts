import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Credential } from '../contract/credential.ts';

export const validatorsCursor = z.object({
  /** Providers bind validators to the credential. */
  by: z.string(),
  tags: z.record(z.string(), z.string()),
});
type Stored = z.output<typeof validatorsCursor>;

/**
 * Committed in the cursor with their page: after a crash, a validator without its page would hide it behind a
 * 304.
 */
export interface Validators {
  /** Headers that make a request conditional; empty for an unknown URL. */
  headersFor(url: URL, credential: Credential | undefined): Record<string, string>;
  /** Keeps the validator of a response whose body has been parsed. */
  keep(url: URL, credential: Credential | undefined, headers: Headers): void;
  /** The part of the next cursor; undefined without validators. */
  toCursor(): Stored | undefined;
}

/** Evicts the oldest. */
const maxTags = 200;
const maxTagLength = 200;

/** Validators of the previous run, from its cursor. */
export function createValidators(stored: Stored | undefined): Validators {
  let by = stored?.by;
  let tags = new Map(Object.entries(stored?.tags ?? {}));
  return {
    headersFor(url, credential) {
      const tag = by === ownerOf(credential) ? tags.get(keyOf(url)) : undefined;
      if (tag === undefined) return {};
      return isDate(tag) ? { 'if-modified-since': tag } : { 'if-none-match': tag };
    },
    keep(url, credential, headers) {
      const tag = headers.get('etag') ?? settledDate(headers);
      if (by !== ownerOf(credential)) tags = new Map();
      by = ownerOf(credential);
      tags.delete(keyOf(url));
      if (tag && tag.length <= maxTagLength) tags.set(keyOf(url), tag);
      for (const oldest of tags.keys()) if (tags.size > maxTags) tags.delete(oldest);
    },
    toCursor: () =>
      by === undefined || tags.size === 0 ? undefined : { by, tags: Object.fromEntries(tags) },
  };
}

/** Content may change again within Last-Modified's second. */
function settledDate(headers: Headers): string | undefined {
  const modified = headers.get('last-modified') ?? '';
  const ageMs = Date.parse(headers.get('date') ?? '') - Date.parse(modified);
  return ageMs >= 1000 ? modified : undefined;
}

const isDate = (tag: string) => !tag.includes('"');

// Short: all must fit the cursor.
const ownerOf = (credential: Credential | undefined) =>
  credential ? shortHash(`${credential.id}.${credential.generation}`) : 'anonymous';

const keyOf = (url: URL) => shortHash(url.href);

const shortHash = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 12);
