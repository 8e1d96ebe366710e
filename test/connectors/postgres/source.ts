import { type PostgresOptions, postgres } from '../../../src/connectors/postgres/postgres.ts';
import type { Connector, SyncResult } from '../../../src/index.ts';
import { type ContextOptions, memoryContext } from '../../../src/testing/context.ts';
import type { TestDatabase } from '../../support/database.ts';

interface WalkResult {
  pages: SyncResult[];
  cursor: unknown;
  /** Ids an engine would store. Rows with a known key may repeat while other transactions are open. */
  ids: number[];
  /** Dedupe keys of this walk and earlier ones. */
  seen: Set<string | undefined>;
}

export interface Source {
  /** Creates the table `source.name`, replacing one of an earlier test. */
  table(name: string, columns: string): Promise<void>;
  /** The connector with access to private addresses. */
  connector(options?: PostgresOptions): Connector;
  config(config: Record<string, unknown>): Record<string, unknown>;
  credential(): { type: 'basic'; username: string; password: string };
  /** Runs the connector once without an engine. */
  runOnce(
    config: Record<string, unknown>,
    context?: ContextOptions,
    options?: PostgresOptions,
  ): Promise<SyncResult>;
  /** Runs until hasMore is false, optionally from an earlier cursor; awaits `between` after each page. */
  walk(
    config: Record<string, unknown>,
    context?: ContextOptions & Partial<WalkResult>,
    between?: (pages: number) => unknown,
  ): Promise<WalkResult>;
}

/** Uses the test's own database as the source. */
export function useSource(database: TestDatabase): Source {
  const { sql } = database;
  const source: Source = {
    table: async (name, columns) => {
      await sql('CREATE SCHEMA IF NOT EXISTS source');
      // Before the test: after it, an open transaction may still lock the table.
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
      const result: WalkResult = { pages: [], cursor, ids: [], seen: new Set<string | undefined>(before) };
      do {
        const page = await source.runOnce(config, { cursor: result.cursor, log });
        // The engine stores cursors as JSON.
        if (page.nextCursor) result.cursor = JSON.parse(JSON.stringify(page.nextCursor));
        for (const { dedupeKey, payload } of page.signals) {
          if (!result.seen.has(dedupeKey)) result.ids.push(Number((payload as { id: unknown }).id));
          result.seen.add(dedupeKey);
        }
        await between(result.pages.push(page));
      } while (result.pages.at(-1)?.hasMore);
      return result;
    },
  };
  return source;
}
