import type { Context } from 'hono';
import { describe, expect, it } from 'vitest';
import { createClientAddress } from '../../src/http/client-address.ts';
import type { HttpEnv } from '../../src/http/context.ts';

type Header = 'x-forwarded-for' | 'forwarded';

/** The client address of a request from `socket` with the header value. */
function addressOf(
  socket: string | undefined,
  value: string | undefined,
  trustedProxies: string[] = [],
  forwardedHeader: Header = 'x-forwarded-for',
): string | undefined {
  const header = (name: string) => (name === forwardedHeader ? value : undefined);
  const env = socket === undefined ? {} : { socket: { remoteAddress: socket } };
  const request = { env, req: { header } } as unknown as Context<HttpEnv>;
  return createClientAddress({ trustedProxies, forwardedHeader })(request);
}

describe('client address', () => {
  it('client address: without trusted proxies, headers are ignored', () => {
    expect(addressOf('203.0.113.9', '198.51.100.1')).toBe('203.0.113.9');
    expect(addressOf('::ffff:203.0.113.9', '198.51.100.1')).toBe('203.0.113.9');
    expect(addressOf(undefined, '198.51.100.1')).toBeUndefined();
  });

  it('client address: a client that is not a trusted proxy cannot forge its address', () => {
    expect(addressOf('203.0.113.9', '198.51.100.1', ['10.0.0.0/8'])).toBe('203.0.113.9');
  });

  it.each([
    ['198.51.100.1', '198.51.100.1'],
    ['6.6.6.6, 198.51.100.1', '198.51.100.1'],
    ['6.6.6.6, 198.51.100.1, 10.1.2.3', '198.51.100.1'],
    ['198.51.100.1:4711', '198.51.100.1'],
    ['[2001:db8::1]:4711', '2001:db8:0:0::/64'],
    ['6.6.6.6, unknown', '10.0.0.1'],
    ['10.9.9.9', '10.9.9.9'],
    ['', '10.0.0.1'],
  ])('client address: behind a trusted proxy, X-Forwarded-For "%s" is %s', (value, expected) => {
    expect(addressOf('10.0.0.1', value, ['10.0.0.0/8'])).toBe(expected);
  });

  it.each([
    ['for=198.51.100.1;proto=https', '198.51.100.1'],
    ['for=6.6.6.6, For="[2001:db8:1:2:3::9]:4711"', '2001:db8:1:2::/64'],
    ['for=_hidden', '10.0.0.1'],
  ])('client address: behind a trusted proxy, Forwarded %s is %s', (value, expected) => {
    expect(addressOf('10.0.0.1', value, ['10.0.0.1'], 'forwarded')).toBe(expected);
  });

  it('client address: IPv6 clients are grouped by /64 network', () => {
    expect(addressOf('2001:db8:1:2:aaaa::1', undefined)).toBe('2001:db8:1:2::/64');
    expect(addressOf('2001:db8:1:2::', undefined)).toBe('2001:db8:1:2::/64');
    expect(addressOf('::1', undefined)).toBe('0:0:0:0::/64');
    expect(addressOf('fe80::1%eth0', undefined)).toBe('fe80:0:0:0::/64');
  });
});
