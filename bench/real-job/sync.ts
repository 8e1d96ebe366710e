import { randomUUID } from 'node:crypto';

/** What a job knows of its connection. A type, since payloads must be plain records. */
export type Due = {
  id: string;
  tenantId: string;
  externalId: string;
  cursor: unknown;
};

/** What a sync of it has found. */
export interface Found {
  connection: Due;
  occurredAt: Date;
  payload: object;
  dedupeKey: string;
  cursor: object;
}

/** The provider: finds one signal, and waits for nobody. */
export async function sync(connection: Due): Promise<Found> {
  const [page, now] = [randomUUID(), new Date()];
  return {
    connection,
    occurredAt: now,
    payload: { number: 1234, title: 'A small payload', account: connection.externalId },
    dedupeKey: page,
    cursor: { page, since: now.toISOString() },
  };
}
