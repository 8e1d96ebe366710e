import type { HttpDescription, StreamDescription } from './description.ts';
import { parsePath } from './paths.ts';
import { invalidValue, type Problem } from './problems.ts';
import { isSent } from './progress.ts';
import { requestNames } from './requests.ts';
import {
  type At,
  conditionProblems,
  configNames,
  isHeaderName,
  pathProblems,
  pathsProblems,
  templateProblems,
} from './shared-checks.ts';
import { namesIn, parseTemplate } from './templates.ts';
import { isTime, parsePosition } from './times.ts';

export function streamProblems(stream: StreamDescription, at: At, description: HttpDescription): Problem[] {
  const { request, records, cursor } = stream;
  const known = [...configNames(description), ...requestNames];
  const recordsPath = typeof records === 'object' ? records.path : records;
  return [
    ...requestProblems(stream, [...at, 'request'], known, description),
    ...pathProblems(
      recordsPath,
      typeof records === 'object' ? [...at, 'records', 'path'] : [...at, 'records'],
    ),
    ...paginationProblems(stream, [...at, 'pagination']),
    ...(cursor ? cursorProblems(stream, [...at, 'cursor']) : []),
    ...(!cursor && isSent({ request })
      ? [{ path: [...at, 'cursor'], message: 'is missing, but the request has the placeholder {cursor}.' }]
      : []),
    ...signalProblems(stream, [...at, 'signal']),
  ];
}

function requestProblems(
  stream: StreamDescription,
  at: At,
  known: readonly string[],
  { auth }: HttpDescription,
): Problem[] {
  const { request } = stream;
  const { path, headers = {}, json, method = 'GET' } = request;
  const parameters = Object.keys(request.query ?? {});
  return [
    ...templateProblems(request, at, known),
    ...(/^[a-z][a-z\d+.-]*:|^\/\//i.test(path) || /[?#\\]/.test(path) || /(?:^|\/)\.{1,2}(?:\/|$)/.test(path)
      ? [
          invalidValue(
            [...at, 'path'],
            path,
            'a path below the base URL, such as /projects/{config.project}/issues, without ?, # and ..',
          ),
        ]
      : []),
    ...(json !== undefined && method === 'GET'
      ? [{ path: [...at, 'json'], message: 'is a body, but the method is GET; set method: POST.' }]
      : []),
    ...Object.keys(headers)
      .filter((name) => !isHeaderName(name))
      .map((name) => ({ path: [...at, 'headers', name], message: 'is not the name of a header.' })),
    ...(auth.type === 'query' && parameters.includes(auth.query)
      ? [{ path: [...at, 'query', auth.query], message: 'is already sent by auth; remove it.' }]
      : []),
    ...(stream.cursor?.parameter !== undefined && parameters.includes(stream.cursor.parameter)
      ? [
          {
            path: [...at, 'query', stream.cursor.parameter],
            message: 'is already sent by cursor.parameter; remove one of them.',
          },
        ]
      : []),
  ];
}

function paginationProblems(stream: StreamDescription, at: At): Problem[] {
  const { pagination, request, cursor } = stream;
  if (!pagination || pagination.type === 'none' || pagination.type === 'link') return [];
  if (pagination.type === 'next_url') return pathProblems(pagination.path, [...at, 'path']);
  const { parameter, size, in: within = 'query' } = pagination;
  const pathFields = ['path', 'hasMore', 'isLast', 'total', 'totalPages'] as const;
  const values = pagination as Partial<Record<(typeof pathFields)[number], string | undefined>>;
  const queryNames = Object.keys(request.query ?? {});
  const isDuplicate = (name: string) =>
    within === 'query' && (queryNames.includes(name) || name === cursor?.parameter);
  return [
    ...pathFields.flatMap((name) => pathProblems(values[name], [...at, name])),
    ...(within === 'json' && (request.method ?? 'GET') === 'GET'
      ? [
          {
            path: [...at, 'in'],
            message: 'is "json", but GET has no body; set request.method: POST.',
          },
        ]
      : []),
    ...(within === 'json' ? pathProblems(parameter, [...at, 'parameter']) : []),
    ...(isDuplicate(parameter)
      ? [
          {
            path: [...at, 'parameter'],
            message: `is "${parameter}", which the request already sends; remove one of them.`,
          },
        ]
      : []),
    ...(size && (size.parameter === parameter || isDuplicate(size.parameter))
      ? [
          {
            path: [...at, 'size', 'parameter'],
            message: `is "${size.parameter}", which the request already sends; remove one of them.`,
          },
        ]
      : []),
    ...(pagination.hasMore !== undefined && pagination.isLast !== undefined
      ? [{ path: [...at, 'isLast'], message: 'and hasMore are redundant; keep one of them.' }]
      : []),
  ];
}

function cursorProblems(stream: StreamDescription, at: At): Problem[] {
  const cursor = stream.cursor;
  if (!cursor) return [];
  const { path, order, parameter, format = 'iso', sendAs, lookbackSeconds = 0, start, inclusive } = cursor;
  const { parameter: _parameter, ...withoutParameter } = cursor;
  const inTemplate = isSent({ request: stream.request, cursor: withoutParameter });
  const isInRequest = parameter !== undefined || inTemplate;
  const problems: Problem[] = pathProblems(path, [...at, 'path']);
  const report = (name: string, message: string) => problems.push({ path: [...at, name], message });
  if (!isInRequest && order !== 'descending')
    report(
      'parameter',
      `is missing, and the request has no {cursor}: with order: ${order}, ` +
        'new records cannot be requested. Set one of them, or order: ' +
        'descending if the list is sorted newest first.',
    );
  if (parameter !== undefined && inTemplate)
    report('parameter', 'and {cursor} in the request are redundant; keep one of them.');
  if (!isInRequest && sendAs !== undefined)
    report('sendAs', 'is never sent: there is neither cursor.parameter nor {cursor}.');
  if (!isInRequest && start !== undefined)
    report('start', 'is never sent: there is neither cursor.parameter nor {cursor}.');
  if (!isInRequest && inclusive !== undefined)
    report('inclusive', 'needs a cursor parameter, and there is none.');
  if (sendAs !== undefined && sendAs !== format && !(isTime(cursor) && isTime({ ...cursor, format: sendAs })))
    report(
      'sendAs',
      `is "${sendAs}", but the format is ${format}: only times can be sent in another format.`,
    );
  if (lookbackSeconds > 0 && !isTime(cursor))
    report('lookbackSeconds', `is only valid for times, and the format is ${format}.`);
  if (format === 'text' && order === 'descending')
    report('format', 'is "text", which has no order; with order: descending it must be a time or a number.');
  if (typeof start === 'object' && !isTime(cursor))
    report('start', `is in days, but the format is ${format}.`);
  if (start !== undefined && typeof start !== 'object' && parsePosition(format, start) === undefined)
    problems.push(invalidValue([...at, 'start'], start, `of the format ${format}`));
  return problems;
}

function signalProblems({ signal, cursor }: StreamDescription, at: At): Problem[] {
  const { kind, deleted, skipWhen, version, immutable, payload = {} } = signal;
  const kinds = [
    ...(typeof kind === 'string'
      ? kindProblems(kind, [...at, 'kind'])
      : pathProblems(kind.path, [...at, 'kind', 'path'])),
    ...(deleted?.kind === undefined ? [] : kindProblems(deleted.kind, [...at, 'deleted', 'kind'])),
  ];
  const skips = Array.isArray(skipWhen)
    ? skipWhen.flatMap((condition, i) => conditionProblems(condition, [...at, 'skipWhen', i]))
    : skipWhen
      ? conditionProblems(skipWhen, [...at, 'skipWhen'])
      : [];
  return [
    ...kinds,
    ...(signal.occurredAt === undefined && !(cursor && isTime(cursor))
      ? [
          {
            path: [...at, 'occurredAt'],
            message: 'is missing; without a cursor that is a time it must be the path of one.',
          },
        ]
      : pathsProblems(signal.occurredAt, [...at, 'occurredAt'])),
    ...pathsProblems(signal.key, [...at, 'key']),
    ...pathsProblems(version, [...at, 'version']),
    ...(immutable && version !== undefined
      ? [{ path: [...at, 'version'], message: 'identifies versions, but immutable records have only one.' }]
      : []),
    ...(immutable && deleted
      ? [
          {
            path: [...at, 'deleted'],
            message: 'is a change, but immutable records never change: it would not be detected.',
          },
        ]
      : []),
    ...Object.entries(payload).flatMap(([name, path]) => pathProblems(path, [...at, 'payload', name])),
    ...skips,
    ...(deleted ? conditionProblems(deleted, [...at, 'deleted']) : []),
  ];
}

const kindProblems = (kind: string, at: At): Problem[] =>
  namesIn(parseTemplate(kind)).flatMap((name) => {
    const parsed = parsePath(name);
    return name === '' || 'problem' in parsed
      ? [{ path: at, message: `has the placeholder {${name}}, which is not a path into a record.` }]
      : [];
  });
