import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Chance } from '../http/random.ts';

export type ProviderFault = 'error' | 'reset' | 'stall' | 'limit';

/** A provider with a known set of items per account. Items are only added. */
export interface Provider {
  url: string;
  grow(accountCount: number): void;
  itemsOf(account: string): string[];
  /** Affects `percent` of the requests; undefined ends it. */
  fault: { kind: ProviderFault; percent: number } | undefined;
  faultCount(): number;
  close(): void;
}

const initialItems = 15;
const maxItemsAdded = 15;
const pageSize = 10;
const maxLatencyMs = 150;

export async function startProvider(accounts: string[], chance: Chance): Promise<Provider> {
  const counts = new Map<string, number>();
  const countOf = (account: string) => counts.get(account) ?? initialItems;
  let faultCount = 0;
  const item = (account: string, n: number) => `${account}/${n}`;

  async function answer(address: URL, response: ServerResponse): Promise<void> {
    const { fault } = provider;
    await delay(chance.below(maxLatencyMs));
    if (fault && chance.percent(fault.percent)) {
      faultCount++;
      return respondWithFault(fault.kind, response);
    }
    const account = address.pathname.slice(1);
    const after = Number(address.searchParams.get('after'));
    const count = countOf(account);
    const last = Math.min(after + pageSize, count);
    const items = Array.from({ length: Math.max(0, last - after) }, (_, i) => item(account, after + i + 1));
    response.setHeader('content-type', 'application/json').end(JSON.stringify({ items, last, count }));
  }

  const server: Server = createServer((request, response) => {
    void answer(new URL(request.url ?? '/', 'http://provider'), response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

  const provider: Provider = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    grow: (accountCount) => {
      for (let i = 0; i < accountCount; i++) {
        const account = chance.pick(accounts);
        counts.set(account, countOf(account) + 1 + chance.below(maxItemsAdded));
      }
    },
    itemsOf: (account) => Array.from({ length: countOf(account) }, (_, i) => item(account, i + 1)),
    fault: undefined,
    faultCount: () => faultCount,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
  return provider;
}

function respondWithFault(kind: ProviderFault, response: ServerResponse): void {
  if (kind === 'error') response.writeHead(500).end('error');
  if (kind === 'limit') response.writeHead(429, { 'retry-after': '1' }).end();
  if (kind === 'reset') response.socket?.resetAndDestroy();
  // A stall sends no response; the client times out.
}
