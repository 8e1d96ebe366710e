import { createHash } from 'node:crypto';
import { z } from 'zod';
import { CursorExpiredError, nextLink, PermanentError } from '../../connector-kit/index.ts';
import { isObject } from '../../values/is-object.ts';
import { maxResult } from '../../values/limits.ts';
import type { PaginationDescription, StreamDescription } from './description.ts';
import { pathOf, valueAt } from './paths.ts';
import type { RequestParts } from './requests.ts';
import { preview } from './times.ts';

export const pointerSchema = z.union([
  z.object({ url: z.string() }),
  z.object({ token: z.union([z.string(), z.number()]) }),
  z.object({ page: z.number() }),
  z.object({ offset: z.number() }),
]);
export type Pointer = z.output<typeof pointerSchema>;

export interface Answer {
  headers: Headers;
  body: unknown;
  records: readonly unknown[];
  url: string;
  /** Paths into the body cannot be resolved. */
  isBlank?: boolean;
}

export const canExpire = (pointer: Pointer | undefined) =>
  pointer !== undefined && ('url' in pointer || 'token' in pointer);

export function requestForPage(
  request: RequestParts,
  pagination: PaginationDescription,
  pointer: Pointer | undefined,
): RequestParts {
  if (pagination.type === 'none' || pagination.type === 'link' || pagination.type === 'next_url')
    return request;
  const { size, parameter, in: within = 'query' } = pagination;
  const sized = size ? withParameter(request, within, size.parameter, size.value) : request;
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

function withParameter(
  request: RequestParts,
  within: 'query' | 'json',
  name: string,
  value: string | number,
): RequestParts {
  if (within === 'query') return { ...request, query: { ...request.query, [name]: value } };
  return { ...request, json: withValueAt(request.json, pathOf(name).map(String), value) };
}

function withValueAt(json: unknown, [step, ...rest]: readonly string[], value: unknown): unknown {
  if (step === undefined) return value;
  const own = isObject(json) ? json : {};
  const inner = Object.hasOwn(own, step) ? own[step] : undefined;
  return Object.fromEntries([
    ...Object.entries(own).filter(([name]) => name !== step),
    [step, withValueAt(inner, rest, value)],
  ]);
}

export interface NextPageOptions {
  pointer: Pointer | undefined;
  /** A shorter page is the last: providers may cap sizes. */
  longest: number;
  origin: string;
  /** Holds the credential; removed from stored URLs. */
  secretParameter: string | undefined;
}

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
        moreFlag(pagination, answer) ??
        moreByTotal(pagination.totalPages, answer, read) ??
        (count > 0 && count >= longest);
      return hasMore ? { page: page + 1 } : undefined;
    }
    case 'offset': {
      const read = Number(positionOf(pagination, pointer)) + count;
      const hasMore =
        moreFlag(pagination, answer) ?? moreByTotal(pagination.total, answer, read) ?? count >= longest;
      return hasMore && count > 0 ? { offset: read } : undefined;
    }
  }
}

/** Same origin: a response must not redirect credentials. */
function urlPointer(
  next: unknown,
  answer: Answer,
  { origin, secretParameter }: NextPageOptions,
): Pointer | undefined {
  if (next === undefined || next === null || next === '' || next === false) return undefined;
  if (typeof next !== 'string' || !URL.canParse(next, answer.url))
    throw new PermanentError(`The URL of the next page is ${preview(next)}, which is not a URL.`);
  const url = new URL(next, answer.url);
  if (url.origin !== origin)
    throw new PermanentError(
      `The next page is at ${url.origin}, which is not ${origin}: pages of another origin are not fetched.`,
    );
  if (secretParameter) url.searchParams.delete(secretParameter);
  return { url: url.href };
}

/** SSRF: tenants can store any cursor. */
export function requireOrigin(storedUrl: string, origin: string): void {
  if (URL.canParse(storedUrl) && new URL(storedUrl).origin === origin) return;
  throw new CursorExpiredError(
    `The cursor's page ${preview(storedUrl)} is not at ${origin}: pages of another origin are not fetched.`,
  );
}

function tokenPointer(
  pagination: Extract<PaginationDescription, { type: 'cursor' }>,
  answer: Answer,
): Pointer | undefined {
  if (moreFlag(pagination, answer) === false) return undefined;
  const token = valueAt(answer.body, pathOf(pagination.path));
  if (token === undefined || token === null || token === '' || token === false) {
    if (pagination.hasMore === undefined || answer.records.length === 0) return undefined;
    throw new PermanentError(
      `${pagination.hasMore} is true, but there is no page token at ${pagination.path}.`,
    );
  }
  if (typeof token !== 'string' && typeof token !== 'number')
    throw new PermanentError(
      `The page token at ${pagination.path} is ${preview(token)}, which is not text or a number.`,
    );
  return { token };
}

function moreFlag(
  { hasMore, isLast }: { hasMore?: string | undefined; isLast?: string | undefined },
  { body }: Answer,
): boolean | undefined {
  if (isLast !== undefined && isTrue(valueAt(body, pathOf(isLast)))) return false;
  if (hasMore === undefined) return isLast === undefined ? undefined : true;
  const more = valueAt(body, pathOf(hasMore));
  // As false, a missing flag would end every walk.
  if (more === undefined)
    throw new PermanentError(`The response has no ${hasMore}, which tells whether there are more pages.`);
  return isTrue(more);
}

const isTrue = (value: unknown) => value === true || value === 1 || value === 'true';

function moreByTotal(path: string | undefined, { body }: Answer, read: number): boolean | undefined {
  if (path === undefined) return undefined;
  const total = Number(valueAt(body, pathOf(path)) ?? Number.NaN);
  if (!Number.isFinite(total))
    throw new PermanentError(`The response has no number at ${path}, which is the total.`);
  return read < total;
}

export function recordsIn(body: unknown, records: StreamDescription['records'], where: string): unknown[] {
  const { path: text, optional } =
    typeof records === 'object' ? records : { path: records ?? '', optional: false };
  const found = valueAt(body, pathOf(text));
  if (Array.isArray(found)) return requireMaxRecords(found, where);
  // Some providers send null.
  if (found === null || (found === undefined && optional)) return [];
  const place = text === '' ? 'The answer' : `The answer's ${text}`;
  throw new PermanentError(
    `${where}: ${place} is ${found === undefined ? 'missing' : preview(found)}; ` +
      'it must be a list of records.',
  );
}

function requireMaxRecords(records: unknown[], where: string): unknown[] {
  if (records.length > maxResult.signals)
    throw new PermanentError(
      `${where}: the page has ${records.length} records; at most ${maxResult.signals} are allowed. ` +
        'Request fewer with pagination.size.',
    );
  return records;
}

export const fingerprint = (value: unknown): string =>
  createHash('sha256')
    .update(JSON.stringify(value) ?? '')
    .digest('base64url')
    .slice(0, 16);
