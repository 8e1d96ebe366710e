import { type PostgresOptions, postgres } from '../../../src/connectors/postgres/postgres.ts';
import type { Connector, SyncResult } from '../../../src/index.ts';
import { type ContextOptions, memoryContext } from '../../../src/testing/context.ts';
import type { TestDatabase } from '../../support/database.ts';

interface Walked {
  pages: SyncResult[];
  cursor: unknown;
  /**
   * The ids of what an engine would have stored. What was seen in an earlier walk may come again, with its key: transactions of
   * other tests, which run on the same server, have a part in that.
   */
  ids: number[];
  /** The keys of this walk and those before it. */
  seen: Set<string | undefined>;
}

export interface Source {
  /** Creates a table `source.name` with these columns, in place of one that an earlier test has left. */
  table(name: string, columns: string): Promise<void>;
  /** The connector, allowed to reach this machine. */
  connector(options?: PostgresOptions): Connector;
  config(config: Record<string, unknown>): Record<string, unknown>;
  credential(): { type: 'basic'; username: string; password: string };
  /** One run, without an engine. */
  runOnce(
    config: Record<string, unknown>,
    context?: ContextOptions,
    options?: PostgresOptions,
  ): Promise<SyncResult>;
  /** Runs until there is no more, on from an earlier walk if that is given. `between` is waited for after every page. */
  walk(
    config: Record<string, unknown>,
    context?: ContextOptions & Partial<Walked>,
    between?: (pages: number) => unknown,
  ): Promise<Walked>;
}

/** The test's own database, as one that somebody connects to. */
export function useSource(database: TestDatabase): Source {
  const { sql } = database;
  const source: Source = {
    table: async (name, columns) => {
      await sql('CREATE SCHEMA IF NOT EXISTS source');
      // Before rather than after a test, in which a transaction may still hold it.
      await sql(`DROP TABLE IF EXISTS source.${name} CASCADE`);
      await sql(`CREATE TABLE source.${name} (${columns})`);
    },
    connector: (options = {}) => postgres({ network: 'any', ...options }),
    config: (config) => {
      const { hostname, port, pathname } = new URL(database.url);
      return {
        host: hostname,
        port: Number(port),
        database: pathname.slice(1),
        ssl: 'off',
        pageSize: 1000,
        ...config,
      };
    },
    credential: () => {
      const { username, password } = new URL(database.url);
      return { type: 'basic', username, password: decodeURIComponent(password) };
    },
    runOnce: async (config, context = {}, options = {}) => {
      const connector = source.connector(options);
      const checked = await connector.configSchema?.['~standard'].validate(source.config(config));
      if (!checked || checked.issues) throw new Error(JSON.stringify(checked?.issues));
      return connector.sync(
        memoryContext({ credential: source.credential(), ...context, config: checked.value }),
      );
    },
    walk: async (
      config,
      { seen: before = new Set<string | undefined>(), cursor, log } = {},
      between = () => {},
    ) => {
      const walked: Walked = { pages: [], cursor, ids: [], seen: new Set<string | undefined>(before) };
      do {
        const page = await source.runOnce(config, { cursor: walked.cursor, log });
        // As the engine does: what is stored is JSON.
        if (page.nextCursor) walked.cursor = JSON.parse(JSON.stringify(page.nextCursor));
        for (const { dedupeKey, payload } of page.signals) {
          if (!walked.seen.has(dedupeKey)) walked.ids.push(Number((payload as { id: unknown }).id));
          walked.seen.add(dedupeKey);
        }
        await between(walked.pages.push(page));
      } while (walked.pages.at(-1)?.hasMore);
      return walked;
    },
  };
  return source;
}
