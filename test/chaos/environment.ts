import { pino } from 'pino';
import { freePort } from '../../src/dev/postgres.ts';
import { createSyncline } from '../../src/index.ts';
import { keepHistory } from '../checker/history.ts';
import { type Chance, chanceOf } from '../http/random.ts';
import { openNetwork } from '../support/network.ts';
import { startBouncer } from './bouncer.ts';
import { openDisk } from './disk.ts';
import type { FaultContext } from './fault.ts';
import { startFleet } from './fleet.ts';
import { openPostgres, type Sql } from './postgres.ts';
import { startProvider } from './provider.ts';
import { createRecovery } from './recovery.ts';
import { startWork } from './work.ts';

interface Connection {
  id: string;
  account: string;
  hasKeys: boolean;
}

export interface ChaosEnvironment extends Omit<FaultContext, 'chance'> {
  connections: Connection[];
  close(): Promise<void>;
}

export interface EnvironmentOptions {
  seed: number;
  connections: number;
  executors: number;
  limitFactor: number;
  onProblem: (problem: string) => void;
}

const slugs = ['keyed-1', 'bare-1', 'keyed-2', 'bare-2'];

export async function openEnvironment(options: EnvironmentOptions): Promise<ChaosEnvironment> {
  const { seed, connections: connectionCount, executors, limitFactor, onProblem } = options;
  const closers: (() => unknown)[] = [];
  const close = async () => {
    for (const closer of closers.splice(0).reverse()) await closer();
  };
  const chance: Chance = chanceOf(seed ^ 0x5eed);
  const accounts = Array.from({ length: connectionCount }, (_, i) => `account-${i + 1}`);
  try {
    const disk = openDisk();
    closers.push(() => disk.remove());
    const postgres = await openPostgres(disk);
    closers.push(() => postgres.stop());
    const key = await prepare(postgres.url);
    const connections = await addConnections(postgres.sql, accounts);
    await keepHistory(postgres.sql);
    const network = await openNetwork(postgres.url);
    closers.push(() => network.close());
    const bouncer = await startBouncer(postgres.url);
    closers.push(() => bouncer?.stop());
    const provider = await startProvider(accounts, chance);
    closers.push(() => provider.close());
    const serverPort = await freePort();
    const fleet = startFleet({
      routes: { network: network.url, pooler: bouncer?.url ?? network.url, direct: postgres.url },
      executors,
      providerUrl: provider.url,
      serverPort,
      onProblem,
    });
    closers.push(() => fleet.kill());
    const recovery = createRecovery({ postgres, executors: fleet.executors.length, limitFactor, onProblem });
    const api = { url: `http://127.0.0.1:${serverPort}`, key };
    const work = startWork({ postgres, provider, chance, api, connections, onProblem });
    closers.push(() => work.stop());
    return {
      disk,
      postgres,
      network,
      bouncer,
      provider,
      fleet,
      recovery,
      work,
      connections,
      onProblem,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

async function prepare(database: string): Promise<string> {
  const syncline = createSyncline({ database, logger: pino({ level: 'silent' }) });
  try {
    await syncline.migrate();
    return (await syncline.keys.create({ name: 'chaos' })).key;
  } finally {
    await syncline.stop();
  }
}

async function addConnections(sql: Sql, accounts: string[]): Promise<Connection[]> {
  await sql(`INSERT INTO syncline.tenants (name) VALUES ('chaos')`);
  await sql('INSERT INTO syncline.providers (slug) SELECT unnest($1::text[])', [slugs]);
  const rows = await sql<{ id: string; account: string; slug: string }>(
    `INSERT INTO syncline.connections (tenant_id, external_id, provider_slug, metadata)
     SELECT t.id, a.account, a.slug, '{"sync": {"interval_seconds": 3600}}'
     FROM syncline.tenants t CROSS JOIN unnest($1::text[], $2::text[]) AS a (account, slug)
     RETURNING id, external_id AS account, provider_slug AS slug`,
    [accounts, accounts.map((_, i) => slugs[i % slugs.length])],
  );
  return rows.map(({ id, account, slug }) => ({ id, account, hasKeys: slug.startsWith('keyed') }));
}
