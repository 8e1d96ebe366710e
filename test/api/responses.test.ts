import { expect, it } from 'vitest';
import { systemPorts } from '../../src/index.ts';
import { newKey } from '../credentials/handles.ts';
import { tenant, useDatabase } from '../support/database.ts';

const database = useDatabase();
const keys = [newKey()];

it('api: the response of a change is read in its transaction', async () => {
  const sent: string[] = [];
  const ports = { ...systemPorts };
  ports.query = (statement, send) => {
    sent.push(statement);
    return send();
  };
  const { credentials, providers, consumers } = database.engine({ credentials: { keys }, ports });
  const secret = { type: 'api_key', key: 'k' } as const;
  const lastOf = async <T>(change: Promise<T>) => {
    const result = await change;
    return { result, last: sent.at(-1) };
  };

  const created = await lastOf(credentials.create({ tenantId: tenant, provider: 'github', secret }));
  expect(created).toMatchObject({ last: 'COMMIT', result: { generation: 1, kind: 'api_key' } });
  const replaced = await lastOf(credentials.replace(created.result.id, { ...secret, key: 'l' }));
  expect(replaced).toMatchObject({ last: 'COMMIT', result: { id: created.result.id, generation: 2 } });
  const registered = await lastOf(providers.register({ slug: 'tracker', displayName: 'Tracker' }));
  expect(registered).toMatchObject({ last: 'COMMIT', result: { displayName: 'Tracker' } });
  const moved = await lastOf(consumers.move('search', 'beginning'));
  expect(moved).toMatchObject({ last: 'COMMIT', result: { name: 'search', tenantId: undefined } });
});
