import type { HttpDescription, StreamDescription } from './description.ts';
import { parsePath } from './paths.ts';
import { type Problem, wrong } from './problems.ts';
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

/** What does not go together within a stream. */
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
      ? [{ path: [...at, 'cursor'], says: 'is missing, and the request has the placeholder {cursor}.' }]
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
          wrong(
            [...at, 'path'],
            path,
            'a path below the base URL, such as /projects/{config.project}/issues, without ?, # and ..',
          ),
        ]
      : []),
    ...(json !== undefined && method === 'GET'
      ? [{ path: [...at, 'json'], says: 'is a body, and the method is GET; say method: POST.' }]
      : []),
    ...Object.keys(headers)
      .filter((name) => !isHeaderName(name))
      .map((name) => ({ path: [...at, 'headers', name], says: 'is not the name of a header.' })),
    ...(auth.type === 'query' && parameters.includes(auth.query)
      ? [{ path: [...at, 'query', auth.query], says: 'is what auth sends; remove it.' }]
      : []),
    ...(stream.cursor?.parameter !== undefined && parameters.includes(stream.cursor.parameter)
      ? [
          {
            path: [...at, 'query', stream.cursor.parameter],
            says: 'is what cursor.parameter sends; remove one of them.',
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
  const inPaths = ['path', 'hasMore', 'isLast', 'total', 'totalPages'] as const;
  const values = pagination as Partial<Record<(typeof inPaths)[number], string | undefined>>;
  const sent = Object.keys(request.query ?? {});
  const twice = (name: string) => within === 'query' && (sent.includes(name) || name === cursor?.parameter);
  return [
    ...inPaths.flatMap((name) => pathProblems(values[name], [...at, name])),
    ...(within === 'json' && (request.method ?? 'GET') === 'GET'
      ? [
          {
            path: [...at, 'in'],
            says: 'is "json", and the method is GET, which has no body; say request.method: POST.',
          },
        ]
      : []),
    ...(within === 'json' ? pathProblems(parameter, [...at, 'parameter']) : []),
    ...(twice(parameter)
      ? [
          {
            path: [...at, 'parameter'],
            says: `is "${parameter}", which the request sends already; remove one of them.`,
          },
        ]
      : []),
    ...(size && (size.parameter === parameter || twice(size.parameter))
      ? [
          {
            path: [...at, 'size', 'parameter'],
            says: `is "${size.parameter}", which the request sends already; remove one of them.`,
          },
        ]
      : []),
    ...(pagination.hasMore !== undefined && pagination.isLast !== undefined
      ? [{ path: [...at, 'isLast'], says: 'and hasMore say the same; keep one of them.' }]
      : []),
  ];
}

function cursorProblems(stream: StreamDescription, at: At): Problem[] {
  const cursor = stream.cursor;
  if (!cursor) return [];
  const { path, order, parameter, format = 'iso', sendAs, lookbackSeconds = 0, start, inclusive } = cursor;
  const { parameter: _parameter, ...unsent } = cursor;
  const inTemplate = isSent({ request: stream.request, cursor: unsent });
  const isAsked = parameter !== undefined || inTemplate;
  const problems: Problem[] = pathProblems(path, [...at, 'path']);
  const say = (name: string, says: string) => problems.push({ path: [...at, name], says });
  if (!isAsked && order !== 'descending')
    say(
      'parameter',
      `is missing, and no {cursor} is in the request: with order: ${order} nothing would be asked for what is new. Say how the request takes it; or order: descending, if the list comes newest first.`,
    );
  if (parameter !== undefined && inTemplate)
    say('parameter', 'and {cursor} in the request send the same; keep one of them.');
  if (!isAsked && sendAs !== undefined)
    say('sendAs', 'is never sent: neither cursor.parameter nor {cursor} is there.');
  if (!isAsked && start !== undefined)
    say('start', 'is never sent: neither cursor.parameter nor {cursor} is there.');
  if (!isAsked && inclusive !== undefined)
    say('inclusive', 'says how a parameter is taken, and there is none.');
  if (sendAs !== undefined && sendAs !== format && !(isTime(cursor) && isTime({ ...cursor, format: sendAs })))
    say('sendAs', `is "${sendAs}", and the format is ${format}: only times can be sent as other times.`);
  if (lookbackSeconds > 0 && !isTime(cursor))
    say('lookbackSeconds', `goes with times, and the format is ${format}.`);
  if (format === 'text' && order === 'descending')
    say(
      'format',
      'is "text", of which nobody knows what is older; with order: descending it must be a time or a number.',
    );
  if (typeof start === 'object' && !isTime(cursor)) say('start', `counts days, and the format is ${format}.`);
  if (start !== undefined && typeof start !== 'object' && parsePosition(format, start) === undefined)
    problems.push(wrong([...at, 'start'], start, `of the format ${format}`));
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
    ? skipWhen.flatMap((one, i) => conditionProblems(one, [...at, 'skipWhen', i]))
    : skipWhen
      ? conditionProblems(skipWhen, [...at, 'skipWhen'])
      : [];
  return [
    ...kinds,
    ...(signal.occurredAt === undefined && !(cursor && isTime(cursor))
      ? [
          {
            path: [...at, 'occurredAt'],
            says: 'is missing; without a cursor that is a time it must be the path of one.',
          },
        ]
      : pathsProblems(signal.occurredAt, [...at, 'occurredAt'])),
    ...pathsProblems(signal.key, [...at, 'key']),
    ...pathsProblems(version, [...at, 'version']),
    ...(immutable && version !== undefined
      ? [{ path: [...at, 'version'], says: 'tells versions apart, and immutable says that there are none.' }]
      : []),
    ...(immutable && deleted
      ? [
          {
            path: [...at, 'deleted'],
            says: 'is a change of a record, and immutable says that there are none: it would never be seen.',
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
      ? [{ path: at, says: `has the placeholder {${name}}, which is no path into a record.` }]
      : [];
  });
