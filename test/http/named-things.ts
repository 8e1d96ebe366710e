import { type Field, nounOf, type Operation } from './openapi-operations.ts';
import { isNeeded, type Shape, shapesOf, toRequest } from './openapi-requests.ts';
import type { Wire, WireRequest } from './wire.ts';

/** Something that can be named in a request, in every way in which it can be named: by ids, names and cursors. */
export type Thing = Readonly<Record<string, string>>;

export const namingFields = (operation: Operation): Field[] =>
  operation.fields.filter((field) => nounOf(operation, field) !== undefined);

export const neededNames = (operation: Operation): Field[] =>
  namingFields(operation).filter((field) => isNeeded(operation, field));

/** The fields with what names this thing in each. A field of which nobody knows what it names is an error. */
export function named(operation: Operation, fields: readonly Field[], thing: Thing): [Field, unknown][] {
  return fields.map((field) => {
    const noun = nounOf(operation, field) ?? '';
    const value = thing[noun];
    if (value === undefined)
      throw new Error(`${operation.id}: nobody said what ${field.name} names (${noun})`);
    return [field, value];
  });
}

export function filled(operation: Operation, shape: Shape, names: Iterable<[Field, unknown]>): WireRequest {
  return toRequest(operation, new Map([...shape, ...names]));
}

/** What is only looked at first, what deletes last: so everything is there for as long as it is needed. */
export function inOrder(operations: Operation[]): Operation[] {
  const ranks = ['GET', 'POST', 'PATCH', 'PUT', 'DELETE'];
  const rank = ({ method, path }: Operation) => ranks.indexOf(method) + (path.includes('{') ? 0 : 0.5);
  return operations.sort((a, b) => rank(a) - rank(b));
}

/** The list that an operation's cursors are of: its own, or the one of what it does something to. */
export function listOf(operations: Operation[], { path }: Operation): Operation | undefined {
  return operations
    .filter((list) => list.method === 'GET' && list.fields.some(({ name }) => name === 'limit'))
    .filter((list) => path === list.path || path.startsWith(`${list.path}/`))
    .sort((a, b) => b.path.length - a.path.length)[0];
}

export const withKey = (key: string, request: WireRequest): WireRequest => ({
  ...request,
  headers: { ...request.headers, authorization: `Bearer ${key}` },
});

/** Where pages of one item end, in a list as it is and with each filter by an id, as each of the keys is told. */
export async function cursorsOf(
  wire: Wire,
  keys: string[],
  list: Operation,
  thing: Thing,
): Promise<string[]> {
  const filters = list.fields.filter((field) => field.schema.format === 'uuid' && !isNeeded(list, field));
  const limit = list.fields.filter((field) => field.name === 'limit');
  const cursors: string[] = [];
  for (const filter of [[], ...filters.map((field) => [field])])
    for (const key of keys) {
      const names = named(list, [...neededNames(list), ...filter], thing);
      const request = toRequest(list, new Map([...limit.map((field) => [field, 1] as const), ...names]));
      const { text } = await wire.send(withKey(key, request));
      const cursor = (JSON.parse(text) as { next_cursor?: string | null }).next_cursor;
      if (cursor) cursors.push(cursor);
    }
  return cursors;
}

/**
 * Every request that names one of these things: in each field alone, with what is one's own in the others, and in all
 * together; with every choice that the other fields have.
 */
export function requestsFor(operation: Operation, mine: Thing, theirs: readonly Thing[]): WireRequest[] {
  const naming = namingFields(operation);
  const needed = neededNames(operation);
  const own = named(operation, needed, mine);
  const nullable = naming.filter(({ schema }) => [schema.type].flat().includes('null'));
  const shapes = shapesOf(operation);
  const plainest = Math.min(...shapes.map(({ size }) => size));
  const requests = shapes.flatMap((shape) => [
    filled(operation, shape, own),
    // All of them in the plainest way, some with every choice.
    ...theirs
      .slice(0, shape.size === plainest ? theirs.length : 2)
      .flatMap((thing) => [
        filled(operation, shape, named(operation, needed, thing)),
        filled(operation, shape, named(operation, naming, thing)),
        ...naming.map((field) => filled(operation, shape, [...own, ...named(operation, [field], thing)])),
        ...(operation.isStream ? [comingBack(filled(operation, shape, own), thing)] : []),
      ]),
    ...nullable.map((field) => filled(operation, shape, [...own, [field, null]])),
  ]);
  return [...new Map(requests.map((request) => [JSON.stringify(request), request])).values()];
}

/** A stream goes on behind the last event that its reader says to have seen. */
const comingBack = (request: WireRequest, thing: Thing): WireRequest => ({
  ...request,
  headers: { ...request.headers, 'last-event-id': thing['places'] ?? '' },
});
