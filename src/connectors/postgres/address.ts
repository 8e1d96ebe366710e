import { lookup as systemLookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { isPublicAddress, PermanentError, TransientError } from '../../connector-kit/index.ts';
import { describeError } from '../../contract/errors.ts';

export type Lookup = (host: string) => Promise<{ address: string }[]>;

const lookupAll: Lookup = (host) => systemLookup(host, { all: true, verbatim: true });

/** More than these are not tried. */
const maxAddresses = 4;

/**
 * The addresses of a host, checked. The caller connects to one of these and asks for none again: a name server could
 * otherwise give another answer the second time.
 */
export async function addressesOf(
  host: string,
  network: 'public' | 'any',
  lookup: Lookup = lookupAll,
): Promise<string[]> {
  const found = isIP(host) ? [host] : await resolved(host, lookup);
  const inside = network === 'public' ? found.find((address) => !isPublicAddress(address)) : undefined;
  if (inside !== undefined)
    throw new PermanentError(
      `config.host "${host}" is at ${inside}, which is not an address of the public internet. If connections may reach into your own network, make the connector with postgres({ network: 'any' }).`,
    );
  return found.slice(0, maxAddresses);
}

async function resolved(host: string, lookup: Lookup): Promise<string[]> {
  const found = await lookup(host).catch((error: unknown) => {
    throw new TransientError(`config.host "${host}" has no address: ${describeError(error)}`, {
      cause: error,
    });
  });
  if (found.length === 0) throw new TransientError(`config.host "${host}" has no address.`);
  return found.map(({ address }) => address);
}
