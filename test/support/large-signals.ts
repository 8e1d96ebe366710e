import { randomBytes } from 'node:crypto';
import { type TestDatabase, tenant } from './database.ts';

/** Payloads of 780 kB. */
export async function storeLargeSignals({ connect, sql }: TestDatabase, count: number): Promise<void> {
  const connection = await connect();
  for (let batch = 0; batch < count / 20; batch++)
    await sql(
      `INSERT INTO signals (tenant_id, provider_slug, connection_id, kind, occurred_at, payload)
       SELECT $1, 'github', $2, 'opened', now(), jsonb_build_object('text', repeat($3, 1560)) FROM generate_series(1, 20)`,
      [tenant, connection, randomBytes(250).toString('hex')],
    );
}
