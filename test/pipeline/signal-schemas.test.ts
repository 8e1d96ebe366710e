import type { StandardSchemaV1 } from '@standard-schema/spec';
import { beforeEach, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type Connector, createSyncline, defineConnector, type SyncResult } from '../../src/index.ts';
import { useDatabase } from '../support/database.ts';

const database = useDatabase();
const { sql, job, connect } = database;
beforeEach(() => database.empty());

const schemas = {
  'issue.opened': z.object({ title: z.string(), labels: z.array(z.string()).default([]) }),
  'issue.closed': z.object({ at: z.date() }),
};

/** Returns anything, as a connector in JavaScript may. */
const returning = (
  signals: readonly unknown[],
  signalSchemas: Record<string, StandardSchemaV1> = schemas,
): Connector =>
  defineConnector({
    provider: 'github',
    name: 'GitHub',
    signalSchemas,
    sync: async () => ({ signals, nextCursor: 'next' }) as SyncResult<unknown, never>,
  });

const opened = (payload: unknown, kind = 'issue.opened') => ({
  kind,
  occurredAt: '2025-01-01T10:00:00Z',
  payload,
});

async function drain(connector: Connector) {
  await job(await connect());
  await database.engine({ connectors: [connector] }).drain();
  const [ended] = await sql<{
    status: string;
    attempts: number;
    kind: string | null;
    message: string | null;
  }>(`SELECT status, attempts, error ->> 'kind' AS kind, error ->> 'message' AS message FROM sync_jobs`);
  return { ...ended, signals: await database.engine().signals.list() };
}

describe('signal schemas', () => {
  it('EXE-8: payloads are validated and stored as returned, without defaults and with unknown keys', async () => {
    const { status, signals } = await drain(
      returning([opened({ title: 'a', extra: 1 }), opened({ at: new Date(0) }, 'issue.closed')]),
    );
    expect(status).toBe('succeeded');
    expect(signals.items.map(({ kind, payload }) => [kind, payload]).sort()).toEqual([
      ['issue.closed', { at: '1970-01-01T00:00:00.000Z' }],
      ['issue.opened', { title: 'a', extra: 1 }],
    ]);
  });

  it.each([
    [
      'a wrong payload',
      [opened({ title: 'fine' }), opened({ title: 7, labels: ['a', 2] })],
      'signals[1].payload does not match the schema of "issue.opened": title: Invalid input: expected string, ' +
        'received number; labels.1: Invalid input: expected string, received number.',
    ],
    [
      'an undeclared kind',
      [opened({ title: 'a' }, 'issue.opend')],
      'signals[0].kind "issue.opend" is not declared in signalSchemas. Did you mean issue.opened?',
    ],
    [
      'the name of an inherited property as kind',
      [opened({}, 'constructor')],
      'signals[0].kind "constructor" is not declared in signalSchemas. Known: issue.opened, issue.closed.',
    ],
  ])('EXE-8: %s fails the run, is retried, and stores nothing', async (_name, signals, message) => {
    const ended = await drain(returning(signals));
    expect(ended).toMatchObject({ status: 'queued', attempts: 1, kind: 'transient', message });
    expect(ended.signals.items).toEqual([]);
  });

  it('EXE-8: asynchronous schemas are awaited', async () => {
    const even = z.number().refine(async (n) => n % 2 === 0, { error: 'must be even' });
    const ended = await drain(returning([opened(2, 'n'), opened(3, 'n')], { n: even }));
    expect(ended.message).toBe('signals[1].payload does not match the schema of "n": must be even.');
  });

  it('EXE-8: a schema that throws fails only its run', async () => {
    const broken: StandardSchemaV1 = {
      '~standard': {
        version: 1,
        vendor: 'test',
        validate: () => {
          throw new Error('broken schema');
        },
      },
    };
    expect(await drain(returning([opened(1, 'n')], { n: broken }))).toMatchObject({
      status: 'queued',
      message: 'broken schema',
    });
  });

  it('config: a schema that is none is rejected with its kind', () => {
    const wrong = returning([], { 'issue.opened': { title: 'string' } as unknown as StandardSchemaV1 });
    expect(() => createSyncline({ database: database.url, connectors: [wrong] })).toThrow(
      'connectors[0].signalSchemas["issue.opened"] must be a Standard Schema, such as zod\'s, got object.',
    );
  });
});
