import type { Signal } from './connector.ts';

/** What a provider sent. */
export interface Delivery {
  method: string;
  /** By their names in lower case. */
  headers: Readonly<Record<string, string>>;
  /** As it came in, which is what was signed. */
  body: Buffer;
}

/** What becomes of a delivery that was verified. */
export interface Reaction {
  /** Has the connection synced now. True unless given. */
  sync?: boolean | undefined;
  /** Stored at once, under the keys that polling gives them, so that what comes both ways is stored once. */
  signals?: readonly Signal[] | undefined;
  /** Sent back as the answer's body: providers that ask for a proof of who listens. */
  reply?: unknown;
}

/** How a connector takes what its provider sends by itself. */
export interface Webhook {
  /** The app's secret, for providers that sign everything with one; else each connection has its own. */
  secret?: string | undefined;
  /** Whether this was signed with the secret, in time: `nowMs` is the time of day. */
  verify(delivery: Delivery, secret: string, nowMs: number): boolean;
  /** What to do about it: a sync unless this is given. */
  react?(delivery: Delivery, connection: { id: string; config: unknown }): Reaction | Promise<Reaction>;
}
