import { expect, it } from 'vitest';
import { github } from '../../../src/connectors/index.ts';
import { useDatabase } from '../../support/database.ts';
import { useGithub } from '../../support/providers/github.ts';
import { addItems, expectTruth } from './truth.ts';

const database = useDatabase();
const startGithub = useGithub();

it('github: several syncs on Postgres store every item of GitHub once', async () => {
  const server = await startGithub();
  const repository = server.repository('octo/hello');
  addItems(repository, 120);
  const connectionId = await database.connect({});
  await database.sql('UPDATE connections SET config = $2 WHERE id = $1', [
    connectionId,
    JSON.stringify({ repositories: ['octo/hello'] }),
  ]);
  const engine = database.engine({ connectors: [github({ baseUrl: server.url })] });
  await database.job(connectionId);
  await engine.drain();
  await expectStored();

  server.tick(120);
  for (const { id } of [...repository.items.issues.values()].slice(0, 30))
    repository.edit('issues', id, { title: 'Changed' });
  addItems(repository, 1);
  await database.job(connectionId);
  await engine.drain();
  await expectStored();

  async function expectStored(): Promise<void> {
    const signals = await database.sql<{ kind: string; payload: unknown }>(
      'SELECT kind, payload FROM signals',
    );
    expectTruth(signals, repository);
    const failed = await database.sql(`SELECT error FROM sync_jobs WHERE status <> 'succeeded'`);
    expect(failed).toEqual([]);
  }
});
