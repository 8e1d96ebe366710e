import { PermanentError } from '../../connector-kit/index.ts';
import type { ConfigValues } from './config-fields.ts';
import type { HttpDescription, StreamDescription } from './description.ts';
import { escaped } from './records.ts';
import { parseTemplate, type Resolve, render, renderJson, templateWith, type Value } from './templates.ts';
import { timeAs } from './times.ts';

/** Without page parameters. */
export interface RequestParts {
  path: string;
  query: Record<string, Value>;
  headers: Record<string, string>;
  json: unknown;
}

/** `nowMs`: start of the walk, the same for all pages. */
export function resolverOf(
  config: ConfigValues,
  externalId: string | undefined,
  { cursor, nowMs }: { cursor?: Value | undefined; nowMs?: number } = {},
): Resolve {
  return (name) => {
    const [first, second] = name.split('.');
    if (first === 'config') return Object.hasOwn(config, second ?? '') ? config[second ?? ''] : undefined;
    if (first === 'externalId') return externalId;
    if (first === 'cursor') return cursor;
    return nowMs === undefined ? undefined : timeAs((second ?? 'iso') as 'iso', nowMs);
  };
}

export const requestNames = [
  'cursor',
  'externalId',
  'now',
  'now.date',
  'now.iso_seconds',
  'now.epoch_seconds',
  'now.epoch_ms',
];

export function requestPartsOf({ request }: StreamDescription, resolve: Resolve): RequestParts {
  const query = Object.entries(request.query ?? {}).flatMap(([name, value]): [string, Value][] => {
    const rendered = typeof value === 'string' ? render(parseTemplate(value), resolve) : value;
    return rendered === undefined ? [] : [[name, rendered]];
  });
  return {
    path: pathText(request.path, resolve),
    query: Object.fromEntries(query),
    headers: headersOf(request.headers, resolve, {}),
    json: renderJson(request.json, resolve),
  };
}

/** Per segment: values cannot change the path or add a query. */
function pathText(path: string, resolve: Resolve): string {
  return path
    .split('/')
    .map((segment) => {
      const template = parseTemplate(segment);
      if (template.every((part) => typeof part === 'string')) return segment;
      const text = render(template, resolve, escaped);
      if (text === undefined)
        throw new PermanentError(`The path ${path} needs ${segment}, which the connection does not set.`);
      if (text === '' || /^(?:\.|%2e){1,2}$/i.test(text))
        throw new PermanentError(`"${text}" is not allowed for ${segment} in the path ${path}.`);
      return text;
    })
    .join('/');
}

export function headersOf(
  headers: Readonly<Record<string, string>> | undefined,
  resolve: Resolve,
  env: NodeJS.ProcessEnv,
): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers ?? {}).flatMap(([name, text]): [string, string][] => {
      const value = render(templateWith(text, env), resolve);
      if (value === undefined) return [];
      if (!isHeaderValue(value))
        throw new PermanentError(`The header ${name} cannot contain the connection's value of ${text}.`);
      return [[name.toLowerCase(), value]];
    }),
  );
}

/** Prevents header injection. */
const isHeaderValue = (text: string) => /^[\t\x20-\x7e\x80-\xff]*$/.test(text);

export function baseUrlOf(
  { baseUrl, network }: HttpDescription,
  resolve: Resolve,
  env: NodeJS.ProcessEnv,
): URL {
  const template = templateWith(baseUrl, env);
  const [only] = template;
  const isSinglePlaceholder = template.length === 1 && typeof only === 'object';
  const text = render(template, (name) =>
    isSinglePlaceholder ? resolve(name) : hostPart(name, resolve, baseUrl),
  );
  if (text === undefined || !isBaseUrl(text))
    throw new PermanentError(`${baseUrl} is not a URL with the connection's values.`);
  const url = new URL(text);
  if (template.some((part) => typeof part === 'object') && network !== 'any' && url.protocol !== 'https:')
    throw new PermanentError(
      `${url.origin} is not https: credentials are not sent there. To allow it, set network: any.`,
    );
  return url;
}

/** User, query or fragment could redirect credentials. */
export function isBaseUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return /^https?:$/.test(protocol) && !username && !password && !search && !hash && !/[?#\\\s]/.test(text);
}

/** A value must not end the host. */
function hostPart(name: string, resolve: Resolve, baseUrl: string): string | undefined {
  const value = resolve(name);
  const isWholeHost = baseUrl.includes(`//{${name}}`) && /\/\/\{[^}]*\}(?:[:/]|$)/.test(baseUrl);
  const allowed = isWholeHost ? /^[a-z\d-]+(?:\.[a-z\d-]+)*$/i : /^[a-z\d-]+$/i;
  if (value !== undefined && !allowed.test(String(value)))
    throw new PermanentError(
      `"${String(value).slice(0, 80)}" is not allowed for {${name}} in ${baseUrl}: ` +
        `it must be ${isWholeHost ? 'a host' : 'a host label'}.`,
    );
  return value === undefined ? undefined : String(value);
}
