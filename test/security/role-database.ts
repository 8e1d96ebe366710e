import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { afterAll, beforeAll, inject } from 'vitest';
import { databaseUrl, onServer } from '../support/postgres.ts';

const guide = readFileSync(new URL('../../docs/guides/database-roles.md', import.meta.url), 'utf8');

type Role = 'owner' | 'app' | 'reader';

export interface RoleDatabase {
  urlOf(user: Role | 'admin'): string;
  /** Runs a SQL block of the guide as the administrator. */
  runGuideBlock(block: string): Promise<void>;
  as<Row extends object = Record<string, unknown>>(
    user: Role | 'admin',
    text: string,
    values?: unknown[],
  ): Promise<Row[]>;
}

/** An empty database for the statements of the guide, with role names unique to the test file. */
export function useRoleDatabase(): RoleDatabase {
  const suffix = randomUUID().slice(0, 8);
  const name = `syncline_roles_${suffix}`;
  const password = randomBytes(12).toString('hex');
  const nameOf = (role: Role) => `syncline_${role}_${suffix}`;
  const pools = new Map<string, pg.Pool>();

  const database: RoleDatabase = {
    urlOf: (user) => {
      const url = new URL(databaseUrl(inject('serverUrl'), name));
      if (user !== 'admin') Object.assign(url, { username: nameOf(user), password });
      return url.href;
    },
    runGuideBlock: async (block) => {
      const sql = new RegExp(`^\`\`\`sql ${block}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(guide)?.[1];
      if (sql === undefined) throw new Error(`The guide has no block "${block}".`);
      const administrator = decodeURIComponent(new URL(inject('serverUrl')).username);
      const statements = sql
        .replaceAll(/syncline_(owner|app|reader)/g, (_, role: Role) => nameOf(role))
        .replaceAll('present_owner', pg.escapeIdentifier(administrator))
        .replaceAll(/PASSWORD '[^']+'/g, `PASSWORD '${password}'`)
        .replaceAll('DATABASE app', `DATABASE ${name}`);
      await database.as('admin', statements);
    },
    as: async <Row extends object>(user: Role | 'admin', text: string, values?: unknown[]) => {
      const pool = pools.get(user) ?? new pg.Pool({ connectionString: database.urlOf(user), max: 2 });
      // pool.end() resolves before the last socket closes; the forced drop below may then terminate it.
      if (!pools.has(user)) pool.on('error', () => {});
      pools.set(user, pool);
      return (await pool.query<Row>(text, values)).rows;
    },
  };

  beforeAll(() => onServer(inject('serverUrl'), (client) => client.query(`CREATE DATABASE ${name}`)));
  afterAll(async () => {
    await Promise.all([...pools.values()].map((pool) => pool.end()));
    await onServer(inject('serverUrl'), async (client) => {
      await client.query(`DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
      for (const role of ['owner', 'app', 'reader'] as const)
        await client.query(`DROP ROLE IF EXISTS ${nameOf(role)}`);
    });
  });
  return database;
}
