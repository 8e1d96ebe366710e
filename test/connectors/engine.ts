import type { Connector } from '../../src/index.ts';
import { memoryContext } from '../../src/testing/context.ts';
import type { ContextOptions } from '../../src/testing/index.ts';
import { type TestDatabase, tenant } from '../support/database.ts';

export interface EngineConnection {
  /** Queues a job and runs jobs until the queue is empty. */
  sync(): Promise<void>;
  /** Number of stored signals by kind. */
  counts(): Promise<Record<string, number>>;
  cursor(): Promise<unknown>;
}

/** Creates a connection that an engine syncs on Postgres; the credential is injected into the context. */
export async function connectToEngine(
  database: TestDatabase,
  connector: Connector,
  config: unknown,
  credential?: ContextOptions['credential'],
): Promise<EngineConnection> {
  const { credentials } = memoryContext({ credential });
  const withCredential = {
    ...connector,
    sync: (context) => connector.sync({ ...context, credentials }),
  } as Connector;
  const engine = database.engine({ connectors: [withCredential] });
  const slug = connector.provider;
  await database.sql('INSERT INTO providers (slug) VALUES ($1) ON CONFLICT DO NOTHING', [slug]);
  const [row] = await database.sql<{ id: string }>(
    'INSERT INTO connections (tenant_id, provider_slug, config) VALUES ($1, $2, $3) RETURNING id',
    [tenant, slug, JSON.stringify(config)],
  );
  const id = (row as { id: string }).id;
  return {
    sync: async () => {
      await database.job(id, { provider_slug: slug });
      await engine.drain();
    },
    counts: async () => {
      const kinds = await database.sql<{ kind: string; n: number }>(
        'SELECT kind, count(*)::int AS n FROM signals WHERE connection_id = $1 GROUP BY 1',
        [id],
      );
      return Object.fromEntries(kinds.map(({ kind, n }) => [kind, n]));
    },
    cursor: async () => {
      const [found] = await database.sql<{ cursor: unknown }>(
        `SELECT metadata #> '{sync,cursor}' AS cursor FROM connections WHERE id = $1`,
        [id],
      );
      return found?.cursor;
    },
  };
}
