import { hostileCursor, hostileTexts, hostileValue } from './hostile-values.ts';
import { type Field, nounOf, type Operation } from './openapi-operations.ts';
import { isNeeded, plainValues } from './openapi-requests.ts';
import type { Chance } from './random.ts';
import type { WireRequest } from './wire.ts';

/** Existing ids, names and cursors, and the callers' headers. */
export interface Known {
  things: Readonly<Record<string, readonly string[]>>;
  /** Cursors by the path of their list. */
  cursors: Readonly<Record<string, readonly string[]>>;
  /** Authentication headers; repeated entries are chosen more often. */
  callers: readonly Readonly<Record<string, string>>[];
}

/** Number of invalid parts in a request. */
type Wrongness = 'none' | 'one' | 'many';

/** Generates a valid or invalid request for a random operation. */
export function generateRequest(chance: Chance, operations: readonly Operation[], known: Known): WireRequest {
  const operation = chance.pick(operations);
  const wrongness = chance.pick<Wrongness>(['none', 'one', 'one', 'many']);
  const isWild = wrongness === 'many';
  const place = operation.fields.find((field) => isPlace(field));
  // Cursor errors are reached only if the other fields are valid.
  const hasWrongCursor = wrongness === 'one' && place !== undefined && chance.percent(60);
  const sentFields = operation.fields.filter((field) => {
    if (hasWrongCursor && field === place) return true;
    return isNeeded(operation, field) ? !isWild || chance.percent(90) : chance.percent(25);
  });
  const wrong = hasWrongCursor
    ? place
    : wrongness === 'one' && sentFields.length > 0
      ? chance.pick(sentFields)
      : undefined;
  const values = sentFields.map((field) => {
    const isWrong = field === wrong || (isWild && chance.percent(40));
    return { field, value: (isWrong ? wrongValue : rightValue)(chance, operation, field, known) };
  });
  const valuesIn = (place: Field['in']) => values.filter(({ field }) => field.in === place);
  const path = pathOf(chance, operation, valuesIn('path'), isWild);
  const query = queryOf(chance, valuesIn('query'), isWild);
  const sent = bodyOf(chance, operation, valuesIn('body'), isWild);
  const method = isWild && chance.percent(15) ? chance.pick(oddMethods) : operation.method;
  const isOdd = isWild && method === operation.method && chance.percent(25);
  const headers = { ...chance.pick(known.callers), ...(isOdd && oddHeader(chance, known)) };
  return {
    method,
    target: query === '' ? path : `${path}?${query}`,
    headers: { ...sent.headers, ...headers },
    ...(sent.body !== undefined && { body: sent.body }),
  };
}

/** Cursor of a list or of the feed. */
const isPlace = ({ name, schema }: Field) =>
  (name === 'cursor' || name === 'after') && schema.type === 'string';

interface FieldValue {
  field: Field;
  value: unknown;
}

const oddMethods = [
  'HEAD',
  'OPTIONS',
  'PATCH',
  'PUT',
  'POST',
  'DELETE',
  'GET',
  'PROPFIND',
  'TRACE',
  'PURGE',
  'SEARCH',
];

function rightValue(chance: Chance, operation: Operation, field: Field, known: Known): unknown {
  const noun = nounOf(operation, field);
  if (noun === undefined) return chance.pick(plainValues(operation, field));
  const things = noun === 'cursors' ? cursorsOf(chance, operation, known) : known.things[noun];
  if (!things) throw new Error(`${operation.id}: no values for ${field.name} (${noun})`);
  return things.length > 0 ? chance.pick(things) : 'nothing';
}

function wrongValue(chance: Chance, operation: Operation, field: Field, known: Known): unknown {
  // A valid wait would block the request.
  if (field.name === 'wait') return chance.pick(['-1', '31', 'soon', '1e9', '']);
  return isPlace(field) && chance.percent(80)
    ? hostileCursor(chance, cursorsOf(chance, operation, known))
    : hostileValue(chance);
}

/** Prefers cursors of the operation's own list. */
function cursorsOf(chance: Chance, { path }: Operation, { cursors }: Known): readonly string[] {
  const own = cursors[path] ?? [];
  return own.length > 0 && chance.percent(80) ? own : Object.values(cursors).flat();
}

/** Lone surrogates cannot be percent-encoded; send the bytes that some programs produce for them. */
function encoded(value: unknown): string {
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return /\p{Surrogate}/u.test(text) ? '%ED%A0%80' : encodeURIComponent(text);
}

function pathOf(
  chance: Chance,
  { path: template }: Operation,
  values: FieldValue[],
  isWild: boolean,
): string {
  let path = template;
  for (const { field, value } of values)
    path = path.replace(`{${field.name}}`, () => encoded(value).slice(0, 7000) || '%20');
  if (!isWild || chance.percent(85)) return path;
  return chance.pick([
    `${path}/`,
    `/${path}`,
    path.toUpperCase(),
    `/${path.slice(1).replaceAll('/', '%2f')}`,
    `${path}/../${chance.pick(['', 'me', '%2e%2e/keys'])}`,
    `${path}%00`,
    `${path}%ff`,
    `${path}%`,
    `${path};a=b`,
    path.slice(0, chance.below(path.length)) || '/',
    `/v1/${encoded(chance.pick(hostileTexts)).slice(0, 7000)}`,
    '/assets/%2e%2e/%2e%2e/secret.txt',
    '/..%2fsecret.txt',
    '/%2e%2e%2fsecret.txt',
    '/assets/..%5c..%5csecret.txt',
    '/login?token=wrong',
    '/docs',
    '/',
  ]);
}

function queryOf(chance: Chance, values: FieldValue[], isWild: boolean): string {
  const parts = values.map(({ field, value }) => `${field.name}=${encoded(value)}`);
  if (isWild && chance.percent(12) && parts[0] !== undefined) parts.push(parts[0]);
  if (isWild && chance.percent(12)) parts.push(`${encoded(chance.pick(hostileTexts)).slice(0, 300)}=1`);
  if (isWild && chance.percent(6))
    parts.push(chance.pick(['%', 'limit=%zz', 'limit[]=1', 'a=%00', '&&&', '=', 'cursor']));
  if (isWild && chance.percent(3)) parts.push(...Array.from({ length: 80 }, (_, i) => `a${i}=1`));
  return parts.join('&');
}

function bodyOf(
  chance: Chance,
  operation: Operation,
  values: FieldValue[],
  isWild: boolean,
): { body?: string | Buffer; headers: Record<string, string> } {
  const isSent = operation.hasBody ? !isWild || chance.percent(90) : isWild && chance.percent(15);
  if (!isSent) return { headers: {} };
  const json: Record<string, unknown> = {};
  for (const { field, value } of values) put(json, field.path, value);
  if (isWild && chance.percent(12)) json[chance.pick(hostileTexts).slice(0, 200)] = hostileValue(chance);
  const valid = { body: JSON.stringify(json), headers: { 'content-type': 'application/json' } };
  if (!isWild || chance.percent(60)) return valid;
  const { body } = valid;
  return chance.pick([
    () => ({ ...valid, body: body.slice(0, chance.below(body.length)) }),
    () => ({ ...valid, body: `\ufeff${body}` }),
    () => ({ ...valid, body: Buffer.from(`${body}\xff`, 'latin1') }),
    () => ({ ...valid, body: JSON.stringify(hostileValue(chance)) }),
    () => ({ ...valid, body: `${body.slice(0, -1)},"a":1e999}` }),
    () => ({ ...valid, body: `${body.slice(0, -1)},"a":"\\ud800"}` }),
    () => ({ ...valid, body: '['.repeat(20_000) }),
    () => ({ ...valid, body: `{"reason":"${'x'.repeat(chance.percent(20) ? 1_100_000 : 5000)}"}` }),
    () => ({ ...valid, headers: {} }),
    () => ({ ...valid, headers: { 'content-type': chance.pick(contentTypes) } }),
    () => ({ ...valid, headers: { ...valid.headers, 'content-encoding': 'gzip' } }),
    () => ({ ...valid, headers: { ...valid.headers, 'transfer-encoding': 'chunked' } }),
  ])();
}

const contentTypes = [
  'text/plain',
  'application/json; charset=utf-16',
  'application/JSON',
  'application/jsonp',
  'application/x-www-form-urlencoded',
  'multipart/form-data',
  'multipart/form-data; boundary=x',
  'application/problem+json',
  'nonsense',
];

function oddHeader(chance: Chance, known: Known): Record<string, string> {
  const cursor = hostileCursor(chance, Object.values(known.cursors).flat()).replaceAll(/[^\x20-\x7e]/g, '?');
  return chance.pick<Record<string, string>>([
    { 'last-event-id': cursor },
    { 'last-event-id': 'x'.repeat(2000) },
    { accept: 'text/html' },
    { accept: 'nothing/at-all' },
    { origin: 'https://other.example' },
    { origin: 'null' },
    { host: 'other.example' },
    { host: 'localhost:1:2' },
    { cookie: 'syncline_session=%' },
    { cookie: `syncline_session=${'x'.repeat(3000)}; =; a` },
    { 'x-forwarded-proto': 'https' },
    { 'x-long': 'y'.repeat(17_000) },
    { 'x-http-method-override': 'DELETE' },
    { range: 'bytes=0-1' },
    { 'if-none-match': '*' },
  ]);
}

function put(into: Record<string, unknown>, [first, ...rest]: readonly string[], value: unknown): void {
  if (first === undefined) return;
  const inner = into[first];
  if (rest.length === 0) into[first] = value;
  else if (inner === undefined) into[first] = { [rest[0] as string]: value };
  else if (typeof inner === 'object' && inner !== null)
    into[first] = { ...inner, [rest[0] as string]: value };
}
