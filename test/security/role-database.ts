import { randomBytes, randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import pg from 'pg';
import { afterAll, beforeAll, inject } from 'vitest';
import { databaseUrl, onServer } from '../support/postgres.ts';

const guide = readFileSync(new URL('../../docs/guides/database-roles.md', import.meta.url), 'utf8');

type Role = 'owner' | 'app' | 'reader';

export interface RoleDatabase {
  /** The address for one of the guide's roles, or for the administrator. */
  urlOf(who: Role | 'admin'): string;
  /** Runs one of the guide's blocks as the administrator. */
  guided(block: string): Promise<void>;
  as<Row extends object = Record<string, unknown>>(
    who: Role | 'admin',
    text: string,
    values?: unknown[],
  ): Promise<Row[]>;
}

/** An empty database, in which the statements of the guide are run with names that only this test file has. */
export function useRoleDatabase(): RoleDatabase {
  const own = randomUUID().slice(0, 8);
  const name = `syncline_roles_${own}`;
  const password = randomBytes(12).toString('hex');
  const nameOf = (role: Role) => `syncline_${role}_${own}`;
  const pools = new Map<string, pg.Pool>();

  const database: RoleDatabase = {
    urlOf: (who) => {
      const url = new URL(databaseUrl(inject('serverUrl'), name));
      if (who !== 'admin') Object.assign(url, { username: nameOf(who), password });
      return url.href;
    },
    guided: async (block) => {
      const found = new RegExp(`^\`\`\`sql ${block}\\n([\\s\\S]*?)^\`\`\`$`, 'm').exec(guide)?.[1];
      if (found === undefined) throw new Error(`The guide has no block "${block}".`);
      const administrator = decodeURIComponent(new URL(inject('serverUrl')).username);
      const statements = found
        .replaceAll(/syncline_(owner|app|reader)/g, (_, role: Role) => nameOf(role))
        .replaceAll('present_owner', pg.escapeIdentifier(administrator))
        .replaceAll(/PASSWORD '[^']+'/g, `PASSWORD '${password}'`)
        .replaceAll('DATABASE app', `DATABASE ${name}`);
      await database.as('admin', statements);
    },
    as: async <Row extends object>(who: Role | 'admin', text: string, values?: unknown[]) => {
      const known = pools.get(who) ?? new pg.Pool({ connectionString: database.urlOf(who), max: 2 });
      // Its end resolves a moment before its last socket is closed, which the forced drop below may then cut off.
      if (!pools.has(who)) known.on('error', () => {});
      pools.set(who, known);
      return (await known.query<Row>(text, values)).rows;
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
