import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemPorts } from '../../src/index.ts';
import { handlesOn, newKey, oauthConnector } from '../credentials/handles.ts';
import { startOAuthServer } from '../credentials/oauth-server.ts';
import { connector, signal } from '../support/connector.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { recordingLogger } from '../support/log.ts';

const database = useDatabase();
const { sql } = database;

beforeEach(() => database.empty());
afterEach(() => sql('DROP FUNCTION IF EXISTS lose CASCADE; DROP SEQUENCE IF EXISTS tries'));

/** Makes the first `times` writes to the table fail with this error code. */
async function failWrites(code: string, times: number, table: string, operation = 'INSERT'): Promise<void> {
  // A rollback does not undo nextval.
  await sql(`CREATE SEQUENCE tries;
    CREATE FUNCTION lose() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
      IF nextval('syncline.tries') <= ${times} THEN RAISE EXCEPTION 'lost' USING ERRCODE = '${code}'; END IF;
      RETURN NEW;
    END $$;
    CREATE TRIGGER lose BEFORE ${operation} ON ${table} FOR EACH ROW EXECUTE FUNCTION lose()`);
}

describe('DB-5: serialization failures and deadlocks are retried', () => {
  it.each(['40001', '40P01'])(
    'DB-5: a transaction is retried without an error to the caller (%s)',
    async (code) => {
      const id = await database.connect();
      await failWrites(code, 3, 'sync_jobs');
      await database.engine().connections.trigger(id);
      expect(await sql('SELECT status FROM sync_jobs')).toEqual([{ status: 'queued' }]);
      expect(await sql(`SELECT FROM events WHERE kind = 'connection.triggered'`)).toHaveLength(1);
    },
  );

  it('DB-5: single statements are retried too', async () => {
    const { id } = await database.engine().tenants.create({ name: 'one' });
    await failWrites('40P01', 3, 'providers');
    const made = await database.engine({ connectors: [connector()] }).connections.create({
      tenantId: id,
      provider: 'github',
    });
    expect(made.tenantId).toBe(id);
    expect(await sql('SELECT last_value::int AS tries FROM tries')).toEqual([{ tries: 4 }]);
  });

  it('DB-5: retries of a commit never count as an attempt of the job', async () => {
    await database.connect();
    await failWrites('40001', 9, 'signals');
    const { log, lines } = recordingLogger('warn');
    const engine = database.engine({
      connectors: [connector(() => ({ signals: [signal(1)] }))],
      logger: log,
    });
    await engine.tick();
    await engine.drain();
    expect(await sql('SELECT status, attempts, error FROM sync_jobs')).toEqual([
      { status: 'succeeded', attempts: 0, error: null },
    ]);
    expect(await sql('SELECT FROM signals')).toHaveLength(1);
    // After six tries the error is logged, and the executor loop continues.
    expect(lines.map(({ msg }) => msg)).toEqual([expect.stringContaining('lost')]);
  });

  it('DB-5: a retried write of new tokens does not refresh them again', async () => {
    const server = await startOAuthServer();
    const keys = [newKey()];
    const secret = { type: 'oauth2' as const, ...server.issue(), expiresAt: '2020-01-01T00:00:00Z' };
    const { credentials } = database.engine({ credentials: { keys } });
    const { id } = await credentials.create({ tenantId: tenant, provider: 'github', secret });
    await failWrites('40001', 2, 'credentials', 'UPDATE');
    const handle = handlesOn(database, {
      keys,
      connectors: [oauthConnector(server.oauth2)],
      ports: systemPorts,
    })(id);
    expect(await handle.get()).toMatchObject({ accessToken: server.latest(), generation: 2 });
    expect(server.requests).toHaveLength(1);
  });
});
