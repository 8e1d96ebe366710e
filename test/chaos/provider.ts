import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import type { Chance } from '../http/random.ts';

/** What a provider in trouble does instead of answering. */
export type Trouble = 'error' | 'reset' | 'stall' | 'limit';

/** A provider whose accounts have items that only ever become more. It knows what every connection must end up with. */
export interface Provider {
  url: string;
  /** Gives so many of the accounts, chosen by chance, a few more items. */
  grow(accounts: number): void;
  /** Every item of an account, from the first. */
  itemsOf(account: string): string[];
  /** Of so many requests in a hundred, from now on; undefined ends it. */
  trouble: { kind: Trouble; percent: number } | undefined;
  /** Requests that met trouble, so far. */
  troubled(): number;
  close(): void;
}

const itemsAtFirst = 15;
const maxAtOnce = 15;
const pageSize = 10;
const slowestMs = 150;

export async function startProvider(accounts: string[], chance: Chance): Promise<Provider> {
  const counts = new Map<string, number>();
  const countOf = (account: string) => counts.get(account) ?? itemsAtFirst;
  let troubled = 0;
  const item = (account: string, n: number) => `${account}/${n}`;

  async function answer(address: URL, response: ServerResponse): Promise<void> {
    const { trouble } = provider;
    await delay(chance.below(slowestMs));
    if (trouble && chance.percent(trouble.percent)) {
      troubled++;
      return misbehave(trouble.kind, response);
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
    grow: (many) => {
      for (let i = 0; i < many; i++) {
        const account = chance.pick(accounts);
        counts.set(account, countOf(account) + 1 + chance.below(maxAtOnce));
      }
    },
    itemsOf: (account) => Array.from({ length: countOf(account) }, (_, i) => item(account, i + 1)),
    trouble: undefined,
    troubled: () => troubled,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
  return provider;
}

function misbehave(kind: Trouble, response: ServerResponse): void {
  if (kind === 'error') response.writeHead(500).end('trouble');
  if (kind === 'limit') response.writeHead(429, { 'retry-after': '1' }).end();
  if (kind === 'reset') response.socket?.resetAndDestroy();
  // A stall is no answer at all: whoever asked gives up.
}
