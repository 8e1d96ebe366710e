import type { Signal } from './connector.ts';

/** An HTTP request from a provider. */
export interface Delivery {
  method: string;
  /** Keys are lower case. */
  headers: Readonly<Record<string, string>>;
  /** Raw bytes, as signed. */
  body: Buffer;
}

export interface Reaction<Found extends Signal = Signal> {
  /** Queue a sync; default: true. */
  sync?: boolean | undefined;
  /** Stored immediately. Use the dedupe keys of polling to store them once. */
  signals?: readonly Found[] | undefined;
  /** Response body, such as a challenge. */
  reply?: unknown;
}

export interface Webhook<Found extends Signal = Signal> {
  /** App-wide signing secret; default: one per connection. */
  secret?: string | undefined;
  /** Signature and timestamp. `nowMs`: since 1970. */
  verify(delivery: Delivery, secret: string, nowMs: number): boolean;
  /** Default: queue a sync. */
  react?(
    delivery: Delivery,
    connection: { id: string; config: unknown },
  ): Reaction<Found> | Promise<Reaction<Found>>;
}
