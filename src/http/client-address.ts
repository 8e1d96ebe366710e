import { isIP, isIPv4 } from 'node:net';
import type { Context } from 'hono';
import type { Config } from '../config/settings.ts';
import { proxyList } from '../config/trusted-proxies.ts';
import type { HttpEnv } from './context.ts';

/** Finds the address that limits are counted by; undefined where the server does not say who is connected. */
export type ClientAddress = (c: Context<HttpEnv>) => string | undefined;

/** More hops than this are not believed. */
const maxHops = 20;

/**
 * The address of the socket. Where that is a trusted proxy's, the last address in the proxy's header that is none: everything
 * before it was written by the client, who may write anything.
 */
export function createClientAddress({
  trustedProxies,
  forwardedHeader,
}: Pick<Config['server'], 'trustedProxies' | 'forwardedHeader'>): ClientAddress {
  const proxies = proxyList(trustedProxies);
  const isTrusted = (address: string) => proxies.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
  return (c) => {
    const socket = plainAddress(c.env?.incoming?.socket.remoteAddress ?? '');
    if (socket === undefined) return undefined;
    if (!isTrusted(socket)) return networkOf(socket);
    let client = socket;
    for (const hop of hopsOf(c.req.header(forwardedHeader) ?? '', forwardedHeader)) {
      const address = plainAddress(hop);
      // What is no address ("unknown", a name) was not seen by the proxy that wrote it.
      if (address === undefined) break;
      client = address;
      if (!isTrusted(address)) break;
    }
    return networkOf(client);
  };
}

/** The nearest first. */
function hopsOf(header: string, name: Config['server']['forwardedHeader']): string[] {
  const hops = header.split(',').slice(-maxHops).reverse();
  if (name === 'x-forwarded-for') return hops;
  return hops.map((hop) => /(?:^|;)\s*for="?([^";]+)"?/i.exec(hop)?.[1] ?? '');
}

/** Without port and brackets, and IPv4 as such, however it was written. */
function plainAddress(text: string): string | undefined {
  const [, bracketed, withPort] = /^\[([^\]]+)\](?::\d+)?$|^([\d.]+):\d+$/.exec(text.trim()) ?? [];
  const address = (bracketed ?? withPort ?? text.trim()).replace(/^::ffff:(?=\d+\.)/i, '');
  return isIP(address) === 0 ? undefined : address;
}

/** An IPv6 network of 64 bits is one household or one machine: its owner chooses the rest of the address freely. */
function networkOf(address: string): string {
  if (isIPv4(address)) return address;
  const [head = '', tail] = address.replace(/%.*$/, '').split('::');
  const groups = head === '' ? [] : head.split(':');
  const after = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - groups.length - after.length);
  const all = [...groups, ...Array<string>(zeros).fill('0'), ...after];
  const network = all.slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16));
  return `${network.join(':')}::/64`;
}
