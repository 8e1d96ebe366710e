import { afterEach } from 'vitest';
import { type Network, openNetwork } from './network.ts';

const opened: Network[] = [];
afterEach(() => {
  for (const network of opened.splice(0)) network.close();
});

/** A network of a test's own between an engine and its Postgres; gone when the test ends. */
export async function startProxy(databaseUrl: string): Promise<Network> {
  const network = await openNetwork(databaseUrl);
  opened.push(network);
  return network;
}
