import { lookup as resolve } from 'node:dns';
import { BlockList, isIP, type LookupFunction } from 'node:net';
import { Agent } from 'undici';
import { PermanentError } from '../contract/errors.ts';

/** Everything that is not the public internet: where the addresses of others' services must not lead a request. */
const notPublic = new BlockList();
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
  notPublic.addSubnet(network, prefix, 'ipv4');
for (const [network, prefix] of [
  // Protocol assignments, among them tunnels that carry addresses of version 4 in disguise.
  ['2001::', 23],
  ['2001:db8::', 32],
  ['3fff::', 20],
] as const)
  notPublic.addSubnet(network, prefix, 'ipv6');

/** All that is given out to the public internet; the rest of version 6 is local, reserved, or stands for something else. */
const globalUnicast = new BlockList();
globalUnicast.addSubnet('2000::', 3, 'ipv6');

/** Addresses of version 6 that carry one of version 4 lead where that one leads: mapped, translated, 6to4. */
const carriesVersion4 = /^(?:::ffff:|64:ff9b::)(\d+\.\d+\.\d+\.\d+)$/i;

export function isPublicAddress(address: string): boolean {
  const version = isIP(address);
  if (version === 0) return false;
  if (version === 4) return !notPublic.check(address, 'ipv4');
  const inner = version4In(address);
  if (inner !== undefined) return isPublicAddress(inner);
  return globalUnicast.check(address, 'ipv6') && !notPublic.check(address, 'ipv6');
}

function version4In(address: string): string | undefined {
  const dotted = carriesVersion4.exec(address)?.[1];
  if (dotted) return dotted;
  // The platform writes them with colons: let it expand them, and read the groups.
  const host = new URL(`http://[${address.replace(/%.*$/, '')}]/`).hostname.slice(1, -1);
  const hex =
    /^(?:::ffff:|64:ff9b::)([\da-f]{1,4}):([\da-f]{1,4})$/.exec(host) ??
    /^2002:([\da-f]{1,4}):([\da-f]{1,4}):/.exec(host);
  if (!hex) return undefined;
  const [high = 0, low = 0] = [hex[1], hex[2]].map((group) => Number.parseInt(group ?? '0', 16));
  return [high >> 8, high & 255, low >> 8, low & 255].join('.');
}

/** Looks a name up and refuses it if any of its addresses is private; the connection goes to what was checked. */
const publicLookup: LookupFunction = (hostname, options, callback) => {
  resolve(hostname, { ...options, all: true }, (error, addresses) => {
    if (error) return callback(error, '', 4);
    const first = addresses[0];
    if (!first || !addresses.every(({ address }) => isPublicAddress(address)))
      return callback(notReachable(hostname), '', 4);
    if (options.all) callback(null, addresses);
    else callback(null, first.address, first.family);
  });
};

/** For requests to addresses that somebody else chose. */
export const publicAgent = new Agent({ connect: { lookup: publicLookup } });

/** A literal address is not looked up, so it is checked here. */
export function requirePublicHost({ hostname }: URL): void {
  const address = hostname.replace(/^\[|\]$/g, '');
  if (isIP(address) !== 0 && !isPublicAddress(address)) throw notReachable(hostname);
}

function notReachable(host: string): PermanentError {
  return new PermanentError(
    `${host} is not an address on the public internet, and this connector goes nowhere else. If it is meant to, make the connector with network: 'any'.`,
  );
}
