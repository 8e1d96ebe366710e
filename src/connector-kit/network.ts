import { lookup as resolve } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { Agent } from 'undici';
import { PermanentError } from '../contract/errors.ts';

const reserved = new BlockList();
for (const [network, prefix] of [
  ['0.0.0.0', 8],
  ['10.0.0.0', 8],
  ['100.64.0.0', 10],
  ['127.0.0.0', 8],
  ['169.254.0.0', 16],
  ['172.16.0.0', 12],
  ['192.0.0.0', 24],
  ['192.0.2.0', 24],
  ['192.88.99.0', 24],
  ['192.168.0.0', 16],
  ['198.18.0.0', 15],
  ['198.51.100.0', 24],
  ['203.0.113.0', 24],
  ['224.0.0.0', 4],
  ['240.0.0.0', 4],
] as const)
  reserved.addSubnet(network, prefix, 'ipv4');
for (const [network, prefix] of [
  // Includes Teredo, which embeds IPv4 addresses.
  ['2001::', 23],
  ['2001:db8::', 32],
  ['3fff::', 20],
] as const)
  reserved.addSubnet(network, prefix, 'ipv6');

/** Only 2000::/3 is allocated. */
const globalUnicast = new BlockList();
globalUnicast.addSubnet('2000::', 3, 'ipv6');

/** IPv4-mapped and NAT64: the embedded address decides. */
const embeddedIpv4 = /^(?:::ffff:|64:ff9b::)(\d+\.\d+\.\d+\.\d+)$/i;

export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  if (version === 0) return false;
  if (version === 4) return !reserved.check(address, 'ipv4');
  const embedded = ipv4In(address);
  if (embedded !== undefined) return isPublicAddress(embedded);
  return globalUnicast.check(address, 'ipv6') && !reserved.check(address, 'ipv6');
}

function ipv4In(address: string): string | undefined {
  const dotted = embeddedIpv4.exec(address)?.[1];
  if (dotted) return dotted;
  // The URL parser normalizes to hexadecimal groups.
  const host = new URL(`http://[${address.replace(/%.*$/, '')}]/`).hostname.slice(1, -1);
  const hex =
    /^(?:::ffff:|64:ff9b::)([\da-f]{1,4}):([\da-f]{1,4})$/.exec(host) ??
    /^2002:([\da-f]{1,4}):([\da-f]{1,4}):/.exec(host);
  if (!hex) return undefined;
  const [high = 0, low = 0] = [hex[1], hex[2]].map((group) => Number.parseInt(group ?? '0', 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** Rejects hosts with any private address. The socket connects to the checked one (DNS rebinding). */
const publicLookup: LookupFunction = (hostname, options, callback) => {
  resolve(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, '', 4);
    const first = addresses[0];
    if (!first || !addresses.every(({ address }) => isPublicAddress(address)))
      return callback(privateAddressError(hostname), '', 4);
    if (options.all) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};

export const publicAgent = new Agent({ connect: { lookup: publicLookup } });

/** IP literals are not looked up. */
export function requirePublicHost({ hostname }: URL): void {
  const address = hostname.replace(/^\[|\]$/g, '');
  if (isIP(address) !== 0 && !isPublicAddress(address)) throw privateAddressError(hostname);
}

function privateAddressError(host: string): PermanentError {
  return new PermanentError(
    `${host} is not a public internet address. To allow it, create the connector with network: 'any'.`,
  );
}
