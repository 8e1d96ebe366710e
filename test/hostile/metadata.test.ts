import { beforeEach, describe, expect, it } from 'vitest';
import { type Service, startService } from '../http/service.ts';
import { connector } from '../support/connector.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { recordingLogger } from '../support/log.ts';
import { jobRowCases, type MetadataCase, metadataCases } from './metadata-cases.ts';
import { nestedText } from './odd-values.ts';
import { stillSyncs } from './still-syncs.ts';

const database = useDatabase();
const { sql } = database;
beforeEach(() => database.empty());

const insert = async ({ name, metadata }: MetadataCase): Promise<string> => {
  const [row] = await sql<{ id: string }>(
    `INSERT INTO connections (tenant_id, provider_slug, external_id, metadata) VALUES ($1, 'github', $2, $3) RETURNING id`,
    [tenant, name, metadata],
  );
  return row?.id ?? '';
};

/** Hashes of all keys that the engine does not own. */
const foreignKeys = () =>
  sql(
    `SELECT external_id, md5((metadata - 'sync')::text) AS beside,
       md5(coalesce(CASE jsonb_typeof(metadata -> 'sync') WHEN 'object' THEN
         ((metadata -> 'sync') - ARRAY['interval_seconds', 'next_run_at', 'first_activated_at', 'last_jitter_seconds', 'cursor'])::text
       END, '{}')) AS within
     FROM connections ORDER BY id`,
  );

interface ConnectionJson {
  base_interval_seconds: number;
  invalid_metadata: { field: string }[];
}

async function getConnection({ call }: Service, id: string): Promise<ConnectionJson> {
  const { status, body, text } = await call(`/v1/connections/${id}`);
  expect(status, text.slice(0, 300)).toBe(200);
  return body as unknown as ConnectionJson;
}

describe('DB-3: hostile metadata', () => {
  it(`DB-3: ${metadataCases.length} documents are reported, placed, run and repaired as listed`, async () => {
    const cursors = new Map<string, unknown>();
    const { log, lines } = recordingLogger('warn');
    const service = await startService(database, {
      engine: {
        logger: log,
        connectors: [
          connector(({ connection, cursor }) => {
            cursors.set(connection.id, cursor);
            return { signals: [] };
          }),
        ],
      },
    });
    const ids: string[] = [];
    for (const testCase of metadataCases) ids.push(await insert(testCase));
    const before = await foreignKeys();
    const found: unknown[] = [];
    for (const id of ids) {
      const { base_interval_seconds, invalid_metadata } = await getConnection(service, id);
      found.push([base_interval_seconds, invalid_metadata.map(({ field }) => field)]);
    }
    const named = (values: unknown[]) => metadataCases.map(({ name }, i) => [name, values[i]]);
    expect(named(found)).toEqual(
      metadataCases.map(({ name, interval = 900, invalid = [] }) => [name, [interval, invalid]]),
    );

    const { scheduled, invalidMetadata } = await service.syncline.tick();
    const wrong = metadataCases.filter(({ invalid }) => invalid);
    expect({ scheduled, invalidMetadata }).toEqual({
      scheduled: metadataCases.length,
      invalidMetadata: wrong.length,
    });
    expect(lines).toHaveLength(wrong.length);
    expect(Math.max(...lines.map((line) => JSON.stringify(line).length))).toBeLessThan(3000);

    const { succeeded } = await service.syncline.drain();
    expect(succeeded).toBe(metadataCases.length);
    expect(named(ids.map((id) => cursors.get(id)))).toEqual(named(metadataCases.map(({ cursor }) => cursor)));
    for (const id of ids) expect((await getConnection(service, id)).invalid_metadata).toEqual([]);
    expect((await service.call('/v1/connections?limit=100&include=recent')).status).toBe(200);
    expect(await foreignKeys()).toEqual(before);
    expect(Object.keys(Object.prototype)).toEqual([]);
    await stillSyncs(database);
  });

  it('DB-3: a cursor nested 9,000 levels fails only its run and is cut in responses', async () => {
    const service = await startService(database, { engine: { connectors: [connector()] } });
    const deep = { name: 'deep', metadata: `{"sync":{"cursor":${nestedText(9000)}}}` };
    const [id, other] = [await insert(deep), await insert({ name: 'other', metadata: '{}' })];
    await service.syncline.tick();
    expect(await service.syncline.drain()).toMatchObject({ succeeded: 1, failed: 1 });
    const { body } = await service.call(`/v1/jobs?connection_id=${id}`);
    expect(body.items[0]?.['error']).toMatchObject({
      message: 'The stored cursor is nested deeper than 500 levels. Correct it, or trigger a full sync.',
    });
    const { status, text } = await service.call('/v1/connections');
    expect([status, text]).toEqual([200, expect.stringContaining('(nested deeper than 1000 levels)')]);
    expect(text).toContain(other);
  });

  it.each(jobRowCases.map((testCase) => [testCase.name, testCase] as const))(
    'DB-3: a job of another writer is returned by every list: %s',
    async (_name, testCase) => {
      const service = await startService(database);
      const connection = await database.connect();
      const id = await database.job(connection, testCase.columns);
      for (const path of [
        `/v1/jobs/${id}`,
        '/v1/jobs',
        `/v1/connections/${connection}/why`,
        `/v1/connections/${connection}/schedule`,
        '/v1/stats',
        '/v1/connections?include=recent',
      ]) {
        const { status, text } = await service.call(path);
        expect(status, `${path}: ${text.slice(0, 300)}`).toBe(200);
      }
      const { body } = await service.call(`/v1/jobs/${id}`);
      const { hint: _, ...rest } =
        body['error'] === null ? { hint: 0 } : (body['error'] as { hint?: unknown });
      if (testCase.response['error']) expect(body['error']).toEqual(testCase.response['error']);
      else expect({ ...body, ...rest }).toMatchObject(testCase.response);
    },
  );
});
