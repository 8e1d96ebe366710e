import type { Logger } from 'pino';
import { invalidArgument } from '../contract/errors.ts';
import type { Caller } from '../index.ts';
import { invalid, show } from '../values/arguments.ts';
import { isObject } from '../values/is-object.ts';
import { suggestion } from '../values/suggest.ts';

export type Authenticate = (request: Request) => Caller | undefined | Promise<Caller | undefined>;

export interface HandlerOptions {
  /** Path in browsers, such as `/admin/sync`. Default: the mount path, if known. */
  basePath?: string;
  /** Default: true. */
  dashboard?: boolean;
  /**
   * Authenticates requests (without body) with your application's session. Default: Syncline's keys and
   * sessions. Without `tenantId`, the caller is an operator. Requests other than GET need the header
   * `x-syncline-request: 1`, which the dashboard sends.
   */
  authenticate?: Authenticate;
  /**
   * Address of the connection to your server, for limits. Default: the Node socket's. If unknown, all clients
   * without a key share one limit.
   */
  clientAddress?: (request: Request) => string | undefined;
  /** Abort it when your server stops: ends live streams and long polls. */
  signal?: AbortSignal;
  /** Default: standard output. */
  logger?: Logger;
}

interface Rule {
  /** Completes "must be …". */
  expected: string;
  accepts: (value: unknown) => boolean;
  hint?: (value: unknown) => string | undefined;
}

const isFunction = (value: unknown) => typeof value === 'function';

const rules: Record<keyof HandlerOptions, Rule> = {
  basePath: { expected: 'a path such as "/admin/sync"', accepts: isPath, hint: pathHint },
  dashboard: { expected: 'true or false', accepts: (value) => typeof value === 'boolean' },
  authenticate: { expected: 'a function from a Request to a caller or undefined', accepts: isFunction },
  clientAddress: { expected: 'a function from a Request to an IP address or undefined', accepts: isFunction },
  signal: { expected: 'an AbortSignal', accepts: (value) => isObject(value) && 'aborted' in value },
  logger: {
    expected: 'a pino logger',
    accepts: (value) => isObject(value) && isFunction(value['info']) && isFunction(value['child']),
  },
};
const names = Object.keys(rules) as (keyof HandlerOptions)[];

export function checkHandlerOptions(syncline: unknown, options: unknown): void {
  if (!isObject(syncline) || !isFunction(syncline['as']) || !isObject(syncline['access']))
    throw invalidArgument({
      field: 'syncline',
      expected: 'an instance made with createSyncline',
      value: show(syncline),
    });
  if (!isObject(options))
    throw invalidArgument({ field: 'options', expected: 'an object', value: show(options) });
  for (const [name, value] of Object.entries(options)) {
    const rule = names.includes(name as keyof HandlerOptions) && rules[name as keyof HandlerOptions];
    if (!rule) throw invalid(`There is no handler option ${show(name)}.`, suggestion(name, names));
    if (value === undefined || rule.accepts(value)) continue;
    const { expected, hint } = rule;
    throw invalidArgument({ field: name, expected, value: show(value), hint: hint?.(value) });
  }
}

function isPath(value: unknown): boolean {
  return (
    typeof value === 'string' &&
    /^\/(?:[\w.~!$&'()*+,;=:@%-]+\/?)*$/.test(value) &&
    !/\/\.\.?(?:\/|$)/.test(value)
  );
}

function pathHint(value: unknown): string | undefined {
  if (typeof value !== 'string') return undefined;
  if (URL.canParse(value)) return `Use its path: ${show(new URL(value).pathname)}.`;
  const withSlash = `/${value}`;
  return isPath(withSlash) ? `Use ${show(withSlash)}.` : undefined;
}
