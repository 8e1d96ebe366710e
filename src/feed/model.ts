import { z } from 'zod';
import type { ConsumerRow } from '../store/consumers.ts';
import { operatorId } from '../store/scope.ts';
import type { SignalRow } from '../store/signals.ts';
import { jsonOf, maybeText, maybeUuid, providerText, text, time, uuid } from '../values/model.ts';
import type { ReadJson } from '../values/stored-json.ts';
import { feedCursor } from './cursor.ts';
import type { FeedItem } from './reader.ts';

const signal = z
  .object({
    id: uuid,
    tenantId: uuid,
    provider: providerText,
    connectionId: uuid,
    connectionName: maybeText.meta({ description: 'The external id of the connection.' }),
    jobId: maybeUuid.meta({ description: 'The job that stored the signal.' }),
    kind: z.string().meta({ example: 'issue.opened' }),
    occurredAt: time,
    receivedAt: time,
    dedupeKey: maybeText,
    payload: z.unknown().optional().meta({
      description: 'The payload returned by the connector; absent from lists without payloads.',
    }),
  })
  .meta({ id: 'StoredSignal' });
/** A signal in the database. */
export interface StoredSignal extends z.output<typeof signal> {}

export const signalJson = jsonOf(signal);

const feedSignal = signal
  .extend({
    cursor: z.string().meta({ description: 'Feed position; pass it as `after` to continue from here.' }),
  })
  .meta({ id: 'FeedSignal', base: signal });
/** A stored signal and its position in the feed. */
export interface FeedSignal extends z.output<typeof feedSignal> {}

export const feedSignalJson = jsonOf(feedSignal);

export const signalFromRow = (row: SignalRow, json: ReadJson): StoredSignal => ({
  id: row.id,
  tenantId: row.tenant_id,
  provider: row.provider_slug,
  connectionId: row.connection_id,
  connectionName: row.connection_name ?? undefined,
  jobId: row.job_id ?? undefined,
  kind: row.kind,
  occurredAt: row.occurred_at,
  receivedAt: row.received_at,
  payload: row.payload === undefined ? undefined : json(row.payload),
  dedupeKey: row.dedupe_key ?? undefined,
});

export const feedSignalFromItem = ({ row, place }: FeedItem, json: ReadJson): FeedSignal => ({
  ...signalFromRow(row, json),
  cursor: feedCursor(place),
});

const consumer = z
  .object({
    name: text(100).meta({ example: 'search-index' }),
    tenantId: maybeUuid,
    after: z.string().meta({ description: 'Feed position.' }),
    movedAt: time,
    createdAt: time,
  })
  .meta({ id: 'Consumer' });
/** The stored position of a named feed reader. */
export interface Consumer extends z.output<typeof consumer> {}

export const consumerJson = jsonOf(consumer);

export const consumerFromRow = (row: ConsumerRow): Consumer => ({
  name: row.name,
  tenantId: row.tenant_id === operatorId ? undefined : row.tenant_id,
  after: row.after,
  createdAt: row.created_at,
  movedAt: row.moved_at,
});
