import { describe, expect, it } from 'vitest';
import { matchedPrefix, pathAbove, routedPath } from '../../src/http/mount-path.ts';

const origin = 'http://app.example';

describe('mount path', () => {
  it.each([
    ['/admin/sync/v1/me?a=/b', '/admin/sync', '/v1/me'],
    ['/admin/sync', '/admin/sync', '/'],
    ['/admin/sync/', '/admin/sync/', '/'],
    // Stripped by a proxy.
    ['/v1/me', '/admin/sync', '/v1/me'],
    ['/admin/synchronous', '/admin/sync', '/admin/synchronous'],
    ['/a%20b/v1/me', '/a%20b', '/v1/me'],
    ['/v1/me', '/', '/v1/me'],
    ['/v1/me', undefined, '/v1/me'],
  ])('mount path: %s below %s is routed as %s', (path, basePath, expected) => {
    expect(routedPath(new Request(`${origin}${path}`), basePath, undefined)).toBe(expected);
  });

  it('mount path: the path of the router, not of the links, is stripped', () => {
    const request = new Request(`${origin}/sync/v1/me`);
    expect(routedPath(request, '/public/sync', { mountPath: '/sync' })).toBe('/v1/me');
  });

  it.each([
    ['/orgs/a%2Fb/sync/v1/me', '/orgs/:org/sync/*', '/orgs/a%2Fb/sync'],
    ['/v1/me', '/*', ''],
    ['/v1/me', '*', ''],
    ['/v1/me', '/v1/me', undefined],
  ])('mount path: %s matched by %s is mounted at %s', (path, pattern, expected) => {
    expect(matchedPrefix(`${origin}${path}?q=1`, pattern)).toBe(expected);
  });

  it.each([
    ['/admin/sync/v1/me', 2, '/admin/sync'],
    ['/admin/sync/', 0, '/admin/sync'],
    ['/v1', 3, ''],
  ])('mount path: it is above the last segments of %s', (path, count, expected) => {
    expect(pathAbove(`${origin}${path}`, count)).toBe(expected);
  });
});
