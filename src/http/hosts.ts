import { isIP } from 'node:net';

/** Allowed Host headers, against DNS rebinding. */
export interface HostRule {
  names: readonly string[];
  addresses: 'loopback' | 'any';
}

/** Undefined allows any host. */
export function hostRule(listenOn: string, configured: readonly string[] = []): HostRule | undefined {
  if (configured.includes('*')) return undefined;
  const names = ['localhost', listenOn, ...configured].map((name) => name.toLowerCase());
  return { names, addresses: isLoopback(listenOn) ? 'loopback' : 'any' };
}

export function isAllowedHost(header: string | undefined, { names, addresses }: HostRule): boolean {
  if (header === undefined) return false;
  const name = header.toLowerCase().replace(/:\d+$/, '');
  const address = name.replace(/^\[(.*)\]$/, '$1');
  // Rebinding needs a DNS name.
  if (isIP(address) !== 0) return addresses === 'any' || isLoopback(address) || names.includes(name);
  return names.includes(name) || names.includes(header.toLowerCase()) || name.endsWith('.localhost');
}

export function isLoopback(host: string): boolean {
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'));
}
