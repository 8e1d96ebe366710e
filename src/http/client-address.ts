import { isIP, isIPv4 } from 'node:net';
import type { Context } from 'hono';
import type { Config } from '../config/settings.ts';
import { proxyList } from '../config/trusted-proxies.ts';
import type { HttpEnv } from './context.ts';

/** Undefined if the runtime hides the socket. */
export type ClientAddress = (c: Context<HttpEnv>) => string | undefined;

const maxHops = 20;

/** The last untrusted address: clients control earlier ones. */
export function createClientAddress({
  trustedProxies,
  forwardedHeader,
}: Pick<Config['server'], 'trustedProxies' | 'forwardedHeader'>): ClientAddress {
  const proxies = proxyList(trustedProxies);
  const isTrusted = (address: string) => proxies.check(address, isIPv4(address) ? 'ipv4' : 'ipv6');
  return (c) => {
    const socket = plainAddress(c.env?.socket?.remoteAddress ?? '');
    if (socket === undefined) return undefined;
    if (!isTrusted(socket)) return networkOf(socket);
    let client = socket;
    for (const hop of hopsOf(c.req.header(forwardedHeader) ?? '', forwardedHeader)) {
      const address = plainAddress(hop);
      // "unknown" or obfuscated.
      if (address === undefined) break;
      client = address;
      if (!isTrusted(address)) break;
    }
    return networkOf(client);
  };
}

/** Nearest hop first. */
function hopsOf(header: string, name: Config['server']['forwardedHeader']): string[] {
  const hops = header.split(',').slice(-maxHops).reverse();
  if (name === 'x-forwarded-for') return hops;
  return hops.map((hop) => /(?:^|;)\s*for="?([^";]+)"?/i.exec(hop)?.[1] ?? '');
}

function plainAddress(text: string): string | undefined {
  const [, bracketed, withPort] = /^\[([^\]]+)\](?::\d+)?$|^([\d.]+):\d+$/.exec(text.trim()) ?? [];
  const address = (bracketed ?? withPort ?? text.trim()).replace(/^::ffff:(?=\d+\.)/i, '');
  return isIP(address) === 0 ? undefined : address;
}

/** IPv6 clients choose the low 64 bits. */
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
