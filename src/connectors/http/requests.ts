import { PermanentError } from '../../connector-kit/index.ts';
import type { ConfigValues } from './config-fields.ts';
import type { HttpDescription, StreamDescription } from './description.ts';
import { escaped } from './records.ts';
import { parseTemplate, type Resolve, render, renderJson, templateWith, type Value } from './templates.ts';
import { timeAs } from './times.ts';

/** What a request is made of, besides what the page adds. */
export interface Asked {
  path: string;
  query: Record<string, Value>;
  headers: Record<string, string>;
  json: unknown;
}

/** What placeholders of requests stand for. `nowMs` is the beginning of the walk, so that all its pages ask the same. */
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

/** Names that `resolverOf` knows. */
export const requestNames = [
  'cursor',
  'externalId',
  'now',
  'now.date',
  'now.iso_seconds',
  'now.epoch_seconds',
  'now.epoch_ms',
];

export function askedOf({ request }: StreamDescription, resolve: Resolve): Asked {
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

/** Segment by segment: a value can become neither another path nor a query, whatever it holds. */
function pathText(path: string, resolve: Resolve): string {
  return path
    .split('/')
    .map((segment) => {
      const template = parseTemplate(segment);
      if (template.every((part) => typeof part === 'string')) return segment;
      const text = render(template, resolve, escaped);
      if (text === undefined)
        throw new PermanentError(`The path ${path} needs ${segment}, which the connection does not say.`);
      if (text === '' || /^(?:\.|%2e){1,2}$/i.test(text))
        throw new PermanentError(`"${text}" cannot stand for ${segment} in the path ${path}.`);
      return text;
    })
    .join('/');
}

/** Header names are compared without case, so they are kept without. */
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
        throw new PermanentError(`The header ${name} cannot hold what the connection says for ${text}.`);
      return [[name.toLowerCase(), value]];
    }),
  );
}

/** Printable, in Latin-1: no line breaks, by which one header would become two. */
const isHeaderValue = (text: string) => /^[\t\x20-\x7e\x80-\xff]*$/.test(text);

/** Where the API begins, for a connection. */
export function baseUrlOf(
  { baseUrl, network }: HttpDescription,
  resolve: Resolve,
  env: NodeJS.ProcessEnv,
): URL {
  const template = templateWith(baseUrl, env);
  const [only] = template;
  const isWhole = template.length === 1 && typeof only === 'object';
  const text = render(template, (name) => (isWhole ? resolve(name) : hostPart(name, resolve, baseUrl)));
  if (text === undefined || !isBase(text))
    throw new PermanentError(`${baseUrl} becomes no address with what the connection says.`);
  const url = new URL(text);
  if (template.some((part) => typeof part === 'object') && network !== 'any' && url.protocol !== 'https:')
    throw new PermanentError(
      `${url.origin} is not https: no credential is sent there. Where it must be, describe network: any.`,
    );
  return url;
}

/** Without name and password, query or fragment: a credential goes nowhere that was not described. */
export function isBase(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, username, password, search, hash } = new URL(text);
  return /^https?:$/.test(protocol) && !username && !password && !search && !hash && !/[?#\\\s]/.test(text);
}

/** Labels of a host: nothing that could end it. */
function hostPart(name: string, resolve: Resolve, baseUrl: string): string | undefined {
  const value = resolve(name);
  const isWholeHost = baseUrl.includes(`//{${name}}`) && /\/\/\{[^}]*\}(?:[:/]|$)/.test(baseUrl);
  const allowed = isWholeHost ? /^[a-z\d-]+(?:\.[a-z\d-]+)*$/i : /^[a-z\d-]+$/i;
  if (value !== undefined && !allowed.test(String(value)))
    throw new PermanentError(
      `"${String(value).slice(0, 80)}" cannot stand for {${name}} in ${baseUrl}: it must be ${isWholeHost ? 'a host' : 'a label of a host'}.`,
    );
  return value === undefined ? undefined : String(value);
}
