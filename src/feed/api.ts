import type { AuditNote } from '../caller/audit.ts';
import type { Page, PageRequest } from '../caller/keyset.ts';
import type { Connector } from '../contract/connector.ts';
import type { Consumer, FeedSignal, StoredSignal } from './model.ts';
import type { TypedSignal } from './typed-signal.ts';

/** Signals of one tenant, connection, provider or kind. */
export interface SignalsFilter {
  tenantId?: string | undefined;
  connectionId?: string | undefined;
  provider?: string | undefined;
  kind?: string | undefined;
}

/** Filter and page of `signals.list`. */
export interface ListedSignals extends SignalsFilter, PageRequest {
  jobId?: string | undefined;
  /** Inclusive, by the time in the id. */
  since?: Date | undefined;
  /** Exclusive. */
  until?: Date | undefined;
  /** False: omit payloads. */
  payload?: boolean | undefined;
}

/** Start and filter of a feed. */
export interface FeedOptions extends SignalsFilter {
  /**
   * A feed cursor, `beginning` or `latest`. Default: the consumer's cursor, else `beginning`. `feed()`
   * ignores it for an existing consumer.
   */
  after?: string | undefined;
  /** Stores the cursor under this name. */
  consumer?: string | undefined;
  signal?: AbortSignal | undefined;
}

/** Start, filter and size of one page of a feed. */
export interface FeedRead extends FeedOptions {
  /** 1 to 100. */
  limit?: number | undefined;
  /** Up to 8 MB. Returns at least one signal. */
  maxBytes?: number | undefined;
  /** False: omit payloads. */
  payload?: boolean | undefined;
  /** Waits for a signal, up to 30 s. */
  waitMs?: number | undefined;
}

/** Runs around each page read: a server can bound the pages in memory. */
export type PageReadWrapper = <Found extends { items: readonly unknown[] }>(
  advance: () => Promise<Found>,
) => Promise<Found>;

/** Payload types hold only for payloads that are read. */
interface WithPayload {
  payload?: true | undefined;
}

/** Signals in commit order, and the cursor after them. */
export interface FeedPage<Found = FeedSignal> {
  items: Found[];
  nextCursor: string;
}

/** Stored signals, as a list or as a feed. */
export interface SignalsApi<C extends Connector = Connector> {
  /** Throws NOT_FOUND if the caller sees none. */
  get(id: string): Promise<TypedSignal<C, StoredSignal>>;

  /** Newest first. */
  list(request?: ListedSignals & WithPayload): Promise<Page<TypedSignal<C, StoredSignal>>>;
  list(request?: ListedSignals): Promise<Page<StoredSignal>>;

  /** A page in commit order. Move the consumer after processing it. */
  read(
    options?: FeedRead & WithPayload,
    wrapRead?: PageReadWrapper,
  ): Promise<FeedPage<TypedSignal<C, FeedSignal>>>;
  read(options?: FeedRead, wrapRead?: PageReadWrapper): Promise<FeedPage>;

  /**
   * In commit order until `signal` aborts or the loop is left. Saves a consumer's cursor when the next signal
   * is requested: a crash repeats only the current one. Takes over an existing consumer.
   */
  feed(options?: FeedOptions): AsyncGenerator<TypedSignal<C, FeedSignal>>;
}

/** Named feed cursors. */
export interface ConsumersApi {
  /** Throws NOT_FOUND if the caller has none. */
  get(name: string): Promise<Consumer>;

  /** Ordered by name. */
  list(request?: PageRequest): Promise<Page<Consumer>>;

  /**
   * `after`: a feed cursor, `beginning` or `latest`. Creates the consumer if needed. Audited, unlike
   * continuous acknowledgements.
   */
  move(name: string, after: string, note?: AuditNote): Promise<Consumer>;

  /** Deletes the position; a reader of this name then fails with CONFLICT. */
  delete(name: string, note?: AuditNote): Promise<void>;
}
