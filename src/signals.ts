import { requireUuid, requireWhole } from './checks.ts';
import { mostListed } from './jobs.ts';
import type { Ports } from './ports.ts';
import type { Queryable } from './store/database.ts';
import { listSignals, type SignalFilter, type SignalRow, signalsAfter } from './store/signals.ts';

/** A signal as it was stored. */
export interface StoredSignal {
  id: string;
  tenantId: string;
  provider: string;
  connectionId: string;
  /** The job whose run stored it. */
  jobId: string | undefined;
  kind: string;
  occurredAt: Date;
  receivedAt: Date;
  payload: unknown;
  dedupeKey: string | undefined;
}

export interface SignalsFilter {
  connectionId?: string;
  provider?: string;
  kind?: string;
}

export type Signals = ReturnType<typeof createSignals>;

/** How often a tail looks, and how far back: a transaction that began earlier may commit later. */
const tailMs = 500;
const lookBackMs = 10_000;
const tailBatch = 500;

export function createSignals({ db, ports }: { db: Queryable; ports: Ports }) {
  return {
    /** The newest signals first. */
    async list({ limit = 20, ...filter }: SignalsFilter & { limit?: number } = {}): Promise<StoredSignal[]> {
      requireWhole('limit', limit, 1, mostListed);
      return (await listSignals(db, { ...checked(filter), limit })).map(toSignal);
    },

    /**
     * Signals as they come in, for people to watch, until the signal aborts. Some of a burst may be missing where a
     * transaction takes longer than ten seconds to commit.
     */
    async *tail(filter: SignalsFilter, signal: AbortSignal): AsyncGenerator<StoredSignal> {
      const query = checked(filter);
      const seen = new Map<string, number>();
      const since = ports.now();
      while (!signal.aborted) {
        let after: string | undefined = firstIdAt(Math.max(since, ports.now() - lookBackMs));
        while (after !== undefined && !signal.aborted) {
          const rows: SignalRow[] = await signalsAfter(db, { ...query, after, limit: tailBatch });
          for (const row of rows) {
            if (!seen.has(row.id)) yield toSignal(row);
            seen.set(row.id, ports.now());
          }
          after = rows.length === tailBatch ? rows.at(-1)?.id : undefined;
        }
        for (const [id, atMs] of seen) if (atMs < ports.now() - 2 * lookBackMs) seen.delete(id);
        await ports.sleep(tailMs, signal);
      }
    },
  };
}

function checked(filter: SignalsFilter): SignalFilter {
  if (filter.connectionId !== undefined) requireUuid('connection', filter.connectionId);
  return filter;
}

/** Ids begin with the time at which they were made. */
function firstIdAt(ms: number): string {
  const time = Math.max(0, ms).toString(16).padStart(12, '0');
  return `${time.slice(0, 8)}-${time.slice(8)}-7000-8000-000000000000`;
}

function toSignal(row: SignalRow): StoredSignal {
  return {
    id: row.id,
    tenantId: row.tenant_id,
    provider: row.provider_slug,
    connectionId: row.connection_id,
    jobId: row.job_id ?? undefined,
    kind: row.kind,
    occurredAt: row.occurred_at,
    receivedAt: row.received_at,
    payload: row.payload,
    dedupeKey: row.dedupe_key ?? undefined,
  };
}
