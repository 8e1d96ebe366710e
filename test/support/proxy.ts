import { cleanUpAfterEach } from './cleanup.ts';
import { type Network, openNetwork } from './network.ts';

const opened: Network[] = [];
cleanUpAfterEach(() => {
  for (const network of opened.splice(0)) network.close();
});

/** A proxy in front of Postgres; closed at the end of the test. */
export async function startProxy(databaseUrl: string): Promise<Network> {
  const network = await openNetwork(databaseUrl);
  opened.push(network);
  return network;
}
