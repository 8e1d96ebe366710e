import { beforeEach, expect, it } from 'vitest';
import { useCli } from '../support/cli.ts';
import { tenant, useDatabase } from '../support/database.ts';

const database = useDatabase();
const { sql, connect } = database;
const { run, runProcess } = useCli(database);
beforeEach(() => database.empty());

async function connectionWith(signals: number): Promise<string> {
  const id = await connect();
  await sql(
    `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
     SELECT $1, 'github', $2, 'k', now(), '{}' FROM generate_series(1, $3) n`,
    [tenant, id, signals],
  );
  return id;
}

it('deletion: `connections delete` waits for a large deletion and prints progress', async () => {
  const id = await connectionWith(12_000);
  const { code, stdout, stderr } = await run('connections', 'delete', id, '--reason', 'left');
  expect([code, stdout]).toEqual([0, `Connection ${id} is deleted.\n`]);
  expect(stderr).toMatch(/of about 12,000 signals deleted/);
  expect(await sql('SELECT FROM signals')).toHaveLength(0);
  expect(await sql(`SELECT reason FROM events WHERE kind = 'connection.deleted'`)).toEqual([
    { reason: 'left' },
  ]);
});

it('deletion: `connections delete --no-wait` returns the progress without waiting', async () => {
  const id = await connectionWith(12_000);
  const { code, stdout, stderr } = await runProcess('connections', 'delete', id, '--no-wait', '--json');
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  expect(JSON.parse(stdout)).toMatchObject({
    connection_id: id,
    state: 'deleting',
    estimated_signals: 12_000,
  });
  expect(await sql('SELECT status FROM connections')).toEqual([{ status: 'disabled' }]);
});
