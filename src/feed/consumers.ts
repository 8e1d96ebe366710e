import type { Recorder } from '../caller/audit.ts';
import type { Caller } from '../caller/caller.ts';
import { keyOf, mapPage, pageLimit, pageOf } from '../caller/keyset.ts';
import { deleteConsumer, findConsumer, listConsumers, moveConsumer } from '../store/consumers.ts';
import type { Database } from '../store/database.ts';
import { startOfFeed } from '../store/feed.ts';
import { notFound } from '../values/arguments.ts';
import type { ConsumersApi } from './api.ts';
import { feedCursor, feedPlace } from './cursor.ts';
import { consumerName } from './feed.ts';
import { type Consumer, consumerFromRow } from './model.ts';
import { placeAtStart } from './proof.ts';
import type { FeedReader } from './reader.ts';

export function createConsumers({
  db,
  caller,
  reader,
  record,
}: {
  db: Database;
  caller: Caller;
  reader: FeedReader;
  record: Recorder;
}): ConsumersApi {
  const key = (name: string) => ({ tenantId: caller.tenantId, name: consumerName(name) });

  async function existing(name: string): Promise<Consumer> {
    const row = await findConsumer(db, consumerName(name));
    if (!row) throw notFound(`consumer "${name}"`);
    return consumerFromRow(row);
  }

  async function cursorAt(after: string): Promise<string> {
    if (after === 'latest') return feedCursor(await reader.latest(db));
    if (after === 'beginning') return feedCursor(placeAtStart(await startOfFeed(db)));
    return feedCursor(feedPlace(after));
  }

  return {
    get: existing,

    async list({ cursor, limit: requestedLimit } = {}) {
      const limit = pageLimit(requestedLimit);
      const after = keyOf('consumers', cursor, [/^[^\0]+$/])?.[0];
      const rows = await listConsumers(db, after, limit + 1);
      return mapPage(
        pageOf('consumers', rows, ({ name }) => [name]),
        consumerFromRow,
      );
    },

    async move(name, after, auditNote = {}) {
      const cursor = await cursorAt(after);
      const now = await db.now();
      return db.transaction(async (tx) => {
        const row = await moveConsumer(tx, now, key(name), cursor);
        if (after === 'beginning' || after === 'latest')
          await record(
            tx,
            now,
            { tenantId: caller.tenantId ?? null, kind: 'consumer.moved', detail: { consumer: name, after } },
            auditNote,
          );
        return consumerFromRow(row);
      });
    },

    async delete(name, auditNote = {}) {
      await db.transaction(async (tx) => {
        if (!(await deleteConsumer(tx, key(name)))) throw notFound(`consumer "${name}"`);
        const detail = { consumer: name };
        const tenantId = caller.tenantId ?? null;
        await record(tx, await db.now(), { tenantId, kind: 'consumer.deleted', detail }, auditNote);
      });
    },
  };
}
