import fc from 'fast-check';
import { expect, it } from 'vitest';
import { SynclineError } from '../../src/contract/errors.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { feedBackups } from '../support/feed-backup.ts';
import '../support/seed.ts';
import { sized } from '../support/size.ts';

const database = useDatabase();
const { sql, engine } = database;

type Step =
  | { does: 'commit'; signals: number }
  | { does: 'fail' }
  | { does: 'read'; consumer: number; limit: number }
  | { does: 'back up' }
  | { does: 'restore'; backup: number; sequence: boolean }
  | { does: 'repair' };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({ does: fc.constant('commit'), signals: fc.integer({ min: 1, max: 3 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ does: 'fail' }) },
  {
    weight: 6,
    arbitrary: fc.record({
      does: fc.constant('read'),
      consumer: fc.nat(2),
      limit: fc.integer({ min: 1, max: 4 }),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ does: 'back up' }) },
  {
    weight: 2,
    arbitrary: fc.record({ does: fc.constant('restore'), backup: fc.nat(5), sequence: fc.boolean() }),
  },
  { weight: 1, arbitrary: fc.constant({ does: 'repair' }) },
) as fc.Arbitrary<Step>;

let schemas = 0;

const isPrefix = (part: string[], whole: string[]) => part.every((id, i) => whole[i] === id);

it('FEED-3: through restores and repairs a reader gets every surviving signal once, or EXPIRED', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 8, maxLength: 25 }), async (steps) => {
      await database.empty();
      await sql('UPDATE feed_start SET position = (SELECT last_value FROM feed_position)');
      const connection = await database.connect();
      const backups = feedBackups(database, `s${++schemas}`);
      const { signals } = engine();
      const { nextCursor: beginning } = await signals.read({ after: 'latest' });
      let history: string[] = [];
      const kept: { n: number; history: string[] }[] = [];
      const consumers = [0, 1, 2].map(() => ({ cursor: beginning, seen: [] as string[] }));

      const read = async (consumer: (typeof consumers)[number], limit: number) => {
        const isOnHistory = isPrefix(consumer.seen, history);
        try {
          const { items, nextCursor } = await signals.read({
            after: consumer.cursor,
            limit,
            waitMs: 5000 * Number(isOnHistory && consumer.seen.length < history.length),
          });
          consumer.seen.push(...items.map(({ id }) => id));
          consumer.cursor = nextCursor;
          expect(isOnHistory).toBe(true);
          expect(consumer.seen).toEqual(history.slice(0, consumer.seen.length));
        } catch (error) {
          if (!(error instanceof SynclineError) || error.code !== 'EXPIRED') throw error;
          expect(isOnHistory).toBe(false);
          Object.assign(consumer, { cursor: beginning, seen: [] });
        }
      };

      for (const next of steps) {
        if (next.does === 'commit') {
          const rows = await sql<{ id: string }>(
            `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
             SELECT $1, 'github', $2, 'any', now(), '{}' FROM generate_series(1, $3) RETURNING id`,
            [tenant, connection, next.signals],
          );
          history = [...history, ...rows.map(({ id }) => id).toSorted()];
        } else if (next.does === 'fail') await sql(`SELECT nextval('feed_position')`);
        else if (next.does === 'read')
          await read(consumers[next.consumer] as (typeof consumers)[number], next.limit);
        else if (next.does === 'back up') kept.push({ n: await backups.take(), history });
        else if (next.does === 'repair') await sql('SELECT repair_feed()');
        else if (kept.length > 0) {
          const { n, history: previous } = kept[next.backup % kept.length] as (typeof kept)[number];
          await backups.restore(n, { sequence: next.sequence });
          history = previous;
        }
      }
      for (const consumer of consumers) {
        for (
          let i = 0;
          i < 100 && !(consumer.seen.length === history.length && isPrefix(consumer.seen, history));
          i++
        )
          await read(consumer, 4);
        expect(consumer.seen).toEqual(history);
      }
    }),
    { numRuns: sized(25, 8) },
  );
});
