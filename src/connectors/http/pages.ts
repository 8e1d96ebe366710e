import { createHash } from 'node:crypto';
import { z } from 'zod';
import { nextLink, PermanentError } from '../../connector-kit/index.ts';
import { isObject } from '../../values/is-object.ts';
import type { PaginationDescription, StreamDescription } from './description.ts';
import { pathOf, valueAt } from './paths.ts';
import type { Asked } from './requests.ts';
import { brief } from './times.ts';

/** Where a page is: by its address, by the provider's token, by its number, or by the records before it. */
export const pointerSchema = z.union([
  z.object({ url: z.string() }),
  z.object({ token: z.union([z.string(), z.number()]) }),
  z.object({ page: z.number() }),
  z.object({ offset: z.number() }),
]);
export type Pointer = z.output<typeof pointerSchema>;

/** What came for a page. */
export interface Answer {
  headers: Headers;
  body: unknown;
  records: readonly unknown[];
  url: string;
  /** There was no body: nothing in it can be looked up. */
  isBlank?: boolean;
}

export const isPerishable = (pointer: Pointer | undefined) =>
  pointer !== undefined && ('url' in pointer || 'token' in pointer);

/** The request for a page; the first one where no pointer is given. */
export function askedForPage(
  asked: Asked,
  pagination: PaginationDescription,
  pointer: Pointer | undefined,
): Asked {
  if (pagination.type === 'none' || pagination.type === 'link' || pagination.type === 'next_url')
    return asked;
  const { size, parameter, in: within = 'query' } = pagination;
  const sized = size ? withParameter(asked, within, size.parameter, size.value) : asked;
  const value = positionOf(pagination, pointer);
  return value === undefined ? sized : withParameter(sized, within, parameter, value);
}

function positionOf(
  pagination: PaginationDescription,
  pointer: Pointer | undefined,
): string | number | undefined {
  if (pagination.type === 'page')
    return pointer && 'page' in pointer ? pointer.page : (pagination.start ?? 1);
  if (pagination.type === 'offset') return pointer && 'offset' in pointer ? pointer.offset : 0;
  return pointer && 'token' in pointer ? pointer.token : undefined;
}

function withParameter(asked: Asked, within: 'query' | 'json', name: string, value: string | number): Asked {
  if (within === 'query') return { ...asked, query: { ...asked.query, [name]: value } };
  return { ...asked, json: placed(asked.json, pathOf(name).map(String), value) };
}

/** A copy with the value at that place. */
function placed(json: unknown, [step, ...rest]: readonly string[], value: unknown): unknown {
  if (step === undefined) return value;
  const own = isObject(json) ? json : {};
  const inner = Object.hasOwn(own, step) ? own[step] : undefined;
  return Object.fromEntries([
    ...Object.entries(own).filter(([name]) => name !== step),
    [step, placed(inner, rest, value)],
  ]);
}

export interface NextPageOptions {
  pointer: Pointer | undefined;
  /** The longest page so far: a shorter one is the last. What was asked for proves nothing, providers give less. */
  longest: number;
  origin: string;
  /** A parameter of the address that holds the credential, and must not be kept. */
  secretParameter: string | undefined;
}

/** Where the next page is; undefined after the last. */
export function nextPage(
  pagination: PaginationDescription,
  answer: Answer,
  options: NextPageOptions,
): Pointer | undefined {
  if (answer.isBlank) return undefined;
  const { pointer, longest } = options;
  const count = answer.records.length;
  switch (pagination.type) {
    case 'none':
      return undefined;
    case 'link':
      return urlPointer(nextLink(answer.headers), answer, options);
    case 'next_url':
      return urlPointer(valueAt(answer.body, pathOf(pagination.path)), answer, options);
    case 'cursor':
      return tokenPointer(pagination, answer);
    case 'page': {
      const page = Number(positionOf(pagination, pointer));
      const read = page - (pagination.start ?? 1) + 1;
      const hasMore =
        flags(pagination, answer) ??
        byTotal(pagination.totalPages, answer, read) ??
        (count > 0 && count >= longest);
      return hasMore ? { page: page + 1 } : undefined;
    }
    case 'offset': {
      const read = Number(positionOf(pagination, pointer)) + count;
      const hasMore =
        flags(pagination, answer) ?? byTotal(pagination.total, answer, read) ?? count >= longest;
      return hasMore && count > 0 ? { offset: read } : undefined;
    }
  }
}

/** Only on the same origin: anything else could be sent wherever an answer says. */
function urlPointer(
  next: unknown,
  answer: Answer,
  { origin, secretParameter }: NextPageOptions,
): Pointer | undefined {
  if (next === undefined || next === null || next === '' || next === false) return undefined;
  if (typeof next !== 'string' || !URL.canParse(next, answer.url))
    throw new PermanentError(`The address of the next page is ${brief(next)}, which is no address.`);
  const url = new URL(next, answer.url);
  if (url.origin !== origin)
    throw new PermanentError(
      `The next page is at ${url.origin}, which is not ${origin}: it is not asked there.`,
    );
  if (secretParameter) url.searchParams.delete(secretParameter);
  return { url: url.href };
}

function tokenPointer(
  pagination: Extract<PaginationDescription, { type: 'cursor' }>,
  answer: Answer,
): Pointer | undefined {
  if (flags(pagination, answer) === false) return undefined;
  const token = valueAt(answer.body, pathOf(pagination.path));
  if (token === undefined || token === null || token === '' || token === false) {
    if (pagination.hasMore === undefined || answer.records.length === 0) return undefined;
    throw new PermanentError(
      `There is more by ${pagination.hasMore}, but no token for it at ${pagination.path}.`,
    );
  }
  if (typeof token !== 'string' && typeof token !== 'number')
    throw new PermanentError(
      `The token for the next page, ${pagination.path}, is ${brief(token)}, which is no token.`,
    );
  return { token };
}

/** What the answer itself says; undefined where it was not described. */
function flags(
  { hasMore, isLast }: { hasMore?: string | undefined; isLast?: string | undefined },
  { body }: Answer,
): boolean | undefined {
  if (isLast !== undefined && isTrue(valueAt(body, pathOf(isLast)))) return false;
  if (hasMore === undefined) return isLast === undefined ? undefined : true;
  const more = valueAt(body, pathOf(hasMore));
  // Taken for "no", a path that is wrong would end every walk at its first page, and nobody would notice.
  if (more === undefined)
    throw new PermanentError(`The answer has no ${hasMore}, which says whether there is more.`);
  return isTrue(more);
}

const isTrue = (value: unknown) => value === true || value === 1 || value === 'true';

function byTotal(path: string | undefined, { body }: Answer, read: number): boolean | undefined {
  if (path === undefined) return undefined;
  const total = Number(valueAt(body, pathOf(path)) ?? Number.NaN);
  if (!Number.isFinite(total))
    throw new PermanentError(`The answer has no number at ${path}, which says how much there is.`);
  return read < total;
}

/** Where the records are in an answer. */
export function recordsIn(body: unknown, records: StreamDescription['records'], where: string): unknown[] {
  const { path: text, optional } =
    typeof records === 'object' ? records : { path: records ?? '', optional: false };
  const found = valueAt(body, pathOf(text));
  if (Array.isArray(found)) return fewEnough(found, where);
  // Some write null for an empty list.
  if (found === null || (found === undefined && optional)) return [];
  const place = text === '' ? 'The answer' : `The answer's ${text}`;
  throw new PermanentError(
    `${where}: ${place} is ${found === undefined ? 'missing' : brief(found)}; it must be a list of records.`,
  );
}

/** As many as the engine takes from a run. */
const maxRecords = 100_000;

/** Before anything is made of them. */
function fewEnough(records: unknown[], where: string): unknown[] {
  if (records.length > maxRecords)
    throw new PermanentError(
      `${where}: the page has ${records.length} records; at most ${maxRecords} are read at a time. Ask for smaller pages: pagination.size.`,
    );
  return records;
}

export const fingerprint = (value: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(value) ?? '')
    .digest('base64url')
    .slice(0, 16);
