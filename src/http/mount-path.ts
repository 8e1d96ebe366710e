import { getPath, tryDecodeURI } from 'hono/utils/url';
import type { Bindings } from './bindings.ts';

export const withoutSlash = (path: string): string => path.replace(/\/+$/, '');

/** Outside of `basePath`, a router has stripped it. */
export function routedPath(
  request: Request,
  basePath: string | undefined,
  env: Bindings | undefined,
): string {
  const path = getPath(request);
  const prefix = tryDecodeURI(withoutSlash(env?.mountPath ?? basePath ?? ''));
  if (path === prefix) return '/';
  return prefix !== '' && path.startsWith(`${prefix}/`) ? path.slice(prefix.length) : path;
}

export function pathAbove(url: string, count: number): string {
  const segments = segmentsOf(new URL(url).pathname);
  return joined(segments.slice(0, Math.max(0, segments.length - count)));
}

/** What `/orgs/:org/sync/*` matches before its `*`. */
export function matchedPrefix(url: string, pattern: string): string | undefined {
  const parts = segmentsOf(pattern);
  if (parts.pop() !== '*') return undefined;
  return joined(segmentsOf(new URL(url).pathname).slice(0, parts.length));
}

const segmentsOf = (path: string) => path.split('/').filter((segment) => segment !== '');
const joined = (segments: string[]) => segments.map((segment) => `/${segment}`).join('');
