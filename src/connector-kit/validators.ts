import { createHash } from 'node:crypto';
import { z } from 'zod';
import type { Credential } from '../contract/credential.ts';

/** Validators as they travel in a cursor. */
export const validatorsCursor = z.object({
  /** The credential that they were got with, hashed: providers bind them to it. */
  by: z.string(),
  tags: z.record(z.string(), z.string()),
});
type Stored = z.output<typeof validatorsCursor>;

/**
 * Entity tags and dates by which a provider tells that nothing has changed. They live in the cursor, not in a cache of
 * their own: stored apart from the page that they belong to, a crash in between would make "nothing has changed" hide
 * what was never stored.
 */
export interface Validators {
  /** What to send along with a request to this address. */
  headersFor(url: URL, credential: Credential | undefined): Record<string, string>;
  /** Remembers what came with an answer. */
  keep(url: URL, credential: Credential | undefined, headers: Headers): void;
  /** For the next cursor; undefined where there are none. */
  toCursor(): Stored | undefined;
}

/** Enough for every list of a connection; the oldest go first. */
const maxTags = 200;
const maxTag = 200;

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
      if (tag && tag.length <= maxTag) tags.set(keyOf(url), tag);
      for (const oldest of tags.keys()) if (tags.size > maxTags) tags.delete(oldest);
    },
    toCursor: () =>
      by === undefined || tags.size === 0 ? undefined : { by, tags: Object.fromEntries(tags) },
  };
}

/** A time of change counts whole seconds: until that second is over, something may change once more and keep its time. */
function settledDate(headers: Headers): string | undefined {
  const modified = headers.get('last-modified') ?? '';
  const ageMs = Date.parse(headers.get('date') ?? '') - Date.parse(modified);
  return ageMs >= 1000 ? modified : undefined;
}

/** An entity tag is quoted; a date is not. */
const isDate = (tag: string) => !tag.includes('"');

// Short, because there is one for every list, and all of them have to fit into one cursor.
const ownerOf = (credential: Credential | undefined) =>
  credential ? shortHash(`${credential.id}.${credential.generation}`) : 'nobody';

const keyOf = (url: URL) => shortHash(url.href);

const shortHash = (text: string) => createHash('sha256').update(text).digest('base64url').slice(0, 12);
