import { beforeEach, describe, expect, it } from 'vitest';
import { defineConnector, type SyncContext, type SyncResult } from '../../src/index.ts';
import { signal } from '../support/connector.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { thenable } from './odd-values.ts';
import { connectorOf, type ResultCase, resultCases } from './result-cases.ts';
import { stillSyncs } from './still-syncs.ts';

const database = useDatabase();
const { sql } = database;
beforeEach(() => database.empty());

interface Outcome {
  name: string;
  status: string;
  attempts: number;
  message: string | null;
  cursor: unknown;
  payloads: unknown[];
}

/** Connections with these names and one due job each. */
async function connectAll(names: readonly string[]): Promise<void> {
  await sql(
    `WITH made AS (
       INSERT INTO connections (tenant_id, provider_slug, external_id)
       SELECT $1, 'github', unnest($2::text[]) RETURNING id, tenant_id)
     INSERT INTO sync_jobs (tenant_id, provider_slug, connection_id, job_type, scheduled_at)
     SELECT tenant_id, 'github', id, 'incremental', '2025-01-01' FROM made`,
    [tenant, names],
  );
}

const outcomes = () =>
  sql<Outcome>(
    `SELECT c.external_id AS name, j.status, j.attempts, j.error ->> 'message' AS message, c.metadata #> '{sync,cursor}' AS cursor,
       ARRAY(SELECT payload FROM signals s WHERE s.connection_id = c.id ORDER BY id) AS payloads
     FROM connections c JOIN sync_jobs j ON j.connection_id = c.id`,
  );

function expectOutcome(
  { name, stored, error, status = 'queued' }: ResultCase,
  found: Outcome | undefined,
): void {
  if (stored) {
    expect(found, name).toMatchObject({ status: 'succeeded', attempts: 0, cursor: stored.cursor ?? null });
    expect(found?.payloads, name).toEqual(stored.payloads);
    return;
  }
  expect(found, name).toMatchObject({ status, attempts: 1, cursor: null, payloads: [] });
  expect(found?.message, name).toMatch(error as RegExp);
}

describe('EXE-8: hostile results: stored, or failed with a readable error', () => {
  it(`EXE-8: ${resultCases.length} hostile results in one batch do not affect healthy runs`, async () => {
    const healthy = Array.from({ length: 20 }, (_, i) => `healthy ${i}`);
    const cases = new Map<string, ResultCase['sync']>([
      ...resultCases.map(({ name, sync }) => [name, sync] as const),
      ...healthy.map((name) => [name, () => ({ signals: [signal(name)], nextCursor: name })] as const),
    ]);
    await connectAll([...cases.keys()]);
    const engine = database.engine({ connectors: [connectorOf(cases)], executor: { concurrency: 100 } });
    const totals = await engine.drain();
    expect(totals).toMatchObject({ claimed: cases.size, lost: 0 });
    const found = new Map((await outcomes()).map((outcome) => [outcome.name, outcome]));
    for (const testCase of resultCases) expectOutcome(testCase, found.get(testCase.name));
    for (const name of healthy)
      expect(found.get(name)).toMatchObject({ status: 'succeeded', cursor: name, payloads: [name] });
    const [latest] = await sql<{ far: boolean }>(
      `SELECT max(retry_after) > now() + interval '8 days' AS far FROM sync_jobs`,
    );
    expect(latest?.far, 'no retry is later than in a week').toBe(false);
    expect(Object.keys(Object.prototype)).toEqual([]);
    await stillSyncs(database);
  });

  it('EXE-8: a connector may throw or return synchronously', async () => {
    const sync = (({ connection }: SyncContext) => {
      if (connection.externalId === 'throws') throw new Error('synchronous');
      return { signals: [signal('synchronous')], nextCursor: 'next' };
    }) as unknown as () => Promise<SyncResult>;
    await connectAll(['throws', 'returns']);
    await database
      .engine({ connectors: [defineConnector({ provider: 'github', name: 'github', sync })] })
      .drain();
    const found = new Map((await outcomes()).map((outcome) => [outcome.name, outcome]));
    expect(found.get('throws')).toMatchObject({ status: 'queued', message: 'synchronous' });
    expect(found.get('returns')).toMatchObject({ status: 'succeeded', payloads: ['synchronous'] });
  });

  it('EXE-9: runs that never settle and ignore their AbortSignal free their slots', async () => {
    const names = Array.from({ length: 10 }, (_, i) => `hangs ${i}`);
    const cases = new Map<string, ResultCase['sync']>(
      names.map((name, i) => [name, () => (i % 2 ? new Promise(() => {}) : thenable(() => {}))]),
    );
    cases.set('well', () => ({ signals: [signal('well')], nextCursor: 'well' }));
    await connectAll([...names, 'well']);
    await database
      .engine({ connectors: [connectorOf(cases)], executor: { concurrency: 2, maxRunSeconds: 1 } })
      .drain();
    const found = await outcomes();
    for (const { name, status, message } of found)
      expect([name, status, message]).toEqual(
        name === 'well'
          ? [name, 'succeeded', null]
          : [name, 'queued', 'The run took longer than 1 s and was aborted.'],
      );
  });
});
