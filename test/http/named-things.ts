import { type Field, nounOf, type Operation } from './openapi-operations.ts';
import { isNeeded, type Shape, shapesOf, toRequest } from './openapi-requests.ts';
import type { Wire, WireRequest } from './wire.ts';

/** Ids, names and cursors that identify one object and its relations, by noun. */
export type Thing = Readonly<Record<string, string>>;

export const namingFields = (operation: Operation): Field[] =>
  operation.fields.filter((field) => nounOf(operation, field) !== undefined);

export const requiredNamingFields = (operation: Operation): Field[] =>
  namingFields(operation).filter((field) => isNeeded(operation, field));

/** Assigns the thing's value to each field; throws for a field with an unknown noun. */
export function nameFields(operation: Operation, fields: readonly Field[], thing: Thing): [Field, unknown][] {
  return fields.map((field) => {
    const noun = nounOf(operation, field) ?? '';
    const value = thing[noun];
    if (value === undefined) throw new Error(`${operation.id}: no value for ${field.name} (${noun})`);
    return [field, value];
  });
}

export function buildRequest(
  operation: Operation,
  shape: Shape,
  names: Iterable<[Field, unknown]>,
): WireRequest {
  return toRequest(operation, new Map([...shape, ...names]));
}

/** Reads first, deletes last, so that objects exist while they are needed. */
export function sortBySideEffect(operations: Operation[]): Operation[] {
  const ranks = ['GET', 'POST', 'PATCH', 'PUT', 'DELETE'];
  const rank = ({ method, path }: Operation) => ranks.indexOf(method) + (path.includes('{') ? 0 : 0.5);
  return operations.sort((a, b) => rank(a) - rank(b));
}

/** The list whose cursors an operation accepts: its own or that of its collection. */
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

/** Cursors of a list in pages of one item, unfiltered and with each id filter, for each key. */
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
      const names = nameFields(list, [...requiredNamingFields(list), ...filter], thing);
      const request = toRequest(list, new Map([...limit.map((field) => [field, 1] as const), ...names]));
      const { text } = await wire.send(withKey(key, request));
      const cursor = (JSON.parse(text) as { next_cursor?: string | null }).next_cursor;
      if (cursor) cursors.push(cursor);
    }
  return cursors;
}

/**
 * Requests with foreign values in each field alone (own values elsewhere) and in all fields together,
 * for every choice of the other fields.
 */
export function requestsFor(operation: Operation, mine: Thing, theirs: readonly Thing[]): WireRequest[] {
  const naming = namingFields(operation);
  const needed = requiredNamingFields(operation);
  const own = nameFields(operation, needed, mine);
  const nullable = naming.filter(({ schema }) => [schema.type].flat().includes('null'));
  const shapes = shapesOf(operation);
  const minSize = Math.min(...shapes.map(({ size }) => size));
  const requests = shapes.flatMap((shape) => [
    buildRequest(operation, shape, own),
    // All things with the minimal shape, two with every other shape.
    ...theirs
      .slice(0, shape.size === minSize ? theirs.length : 2)
      .flatMap((thing) => [
        buildRequest(operation, shape, nameFields(operation, needed, thing)),
        buildRequest(operation, shape, nameFields(operation, naming, thing)),
        ...naming.map((field) =>
          buildRequest(operation, shape, [...own, ...nameFields(operation, [field], thing)]),
        ),
        ...(operation.isStream ? [resumeAfter(buildRequest(operation, shape, own), thing)] : []),
      ]),
    ...nullable.map((field) => buildRequest(operation, shape, [...own, [field, null]])),
  ]);
  return [...new Map(requests.map((request) => [JSON.stringify(request), request])).values()];
}

/** Resumes a stream after an event of the thing. */
const resumeAfter = (request: WireRequest, thing: Thing): WireRequest => ({
  ...request,
  headers: { ...request.headers, 'last-event-id': thing['places'] ?? '' },
});
