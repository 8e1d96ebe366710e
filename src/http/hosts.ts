import { isIP } from 'node:net';

/**
 * Which Host headers are answered. A web page can point a name of its own at this machine and have the visitor's browser
 * ask here; it cannot choose the name that the browser then sends.
 */
export interface HostRule {
  names: readonly string[];
  addresses: 'loopback' | 'any';
}

/** What fits the address that is listened on, and the names that are configured. Undefined, for `*`: any. */
export function hostRule(listenOn: string, configured: readonly string[] = []): HostRule | undefined {
  if (configured.includes('*')) return undefined;
  const names = ['localhost', listenOn, ...configured].map((name) => name.toLowerCase());
  return { names, addresses: isLoopback(listenOn) ? 'loopback' : 'any' };
}

export function isAllowedHost(header: string | undefined, { names, addresses }: HostRule): boolean {
  if (header === undefined) return false;
  const name = header.toLowerCase().replace(/:\d+$/, '');
  const address = name.replace(/^\[(.*)\]$/, '$1');
  // An address in the header is one that was typed in: only names can be pointed elsewhere.
  if (isIP(address) !== 0) return addresses === 'any' || isLoopback(address) || names.includes(name);
  return names.includes(name) || names.includes(header.toLowerCase()) || name.endsWith('.localhost');
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}
