import { lookup as systemLookup } from 'node:dns/promises';
import { isIP } from 'node:net';
import { isPublicAddress, PermanentError, TransientError } from '../../connector-kit/index.ts';
import { describeError } from '../../contract/errors.ts';

export type Lookup = (host: string) => Promise<{ address: string }[]>;

const lookupAll: Lookup = (host) => systemLookup(host, { all: true, verbatim: true });

const maxAddresses = 4;

/** The caller connects without resolving again (DNS rebinding). */
export async function addressesOf(
  host: string,
  network: 'public' | 'any',
  lookup: Lookup = lookupAll,
): Promise<string[]> {
  const found = isIP(host) ? [host] : await resolveHost(host, lookup);
  const privateAddress =
    network === 'public' ? found.find((address) => !isPublicAddress(address)) : undefined;
  if (privateAddress !== undefined)
    throw new PermanentError(
      `config.host "${host}" is at ${privateAddress}, which is not a public internet address. ` +
        "To allow private networks, use postgres({ network: 'any' }).",
    );
  return found.slice(0, maxAddresses);
}

async function resolveHost(host: string, lookup: Lookup): Promise<string[]> {
  const found = await lookup(host).catch((error: unknown) => {
    throw new TransientError(`config.host "${host}" has no address: ${describeError(error)}`, {
      cause: error,
    });
  });
  if (found.length === 0) throw new TransientError(`config.host "${host}" has no address.`);
  return found.map(({ address }) => address);
}
