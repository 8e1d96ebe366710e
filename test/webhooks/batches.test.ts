import { beforeEach, describe, expect, it } from 'vitest';
import { githubSignature } from '../../src/contract/signatures.ts';
import type { Delivery } from '../../src/contract/webhook.ts';
import { systemPorts } from '../../src/index.ts';
import { startService } from '../http/service.ts';
import { signal } from '../support/connector.ts';
import { useDatabase } from '../support/database.ts';
import { until } from '../support/until.ts';
import { countOf } from '../support/worker.ts';
import { asGithub, credentials, deliver, hooked, pathOf } from './webhook-connector.ts';

const database = useDatabase();
const { sql, connect } = database;

beforeEach(async () => {
  await database.empty();
  await sql('TRUNCATE rollups');
});

const itemsIn = ({ body }: Delivery) =>
  (JSON.parse(body.toString()) as { items: string[] }).items.map((item) => signal({ item }, item));

/** A service that records its statements and can block those that match. */
async function startReceivingService({ sync = false }: { sync?: boolean } = {}) {
  const statements: string[] = [];
  const ports = { ...systemPorts };
  let held: { pattern: RegExp; until: Promise<void> } | undefined;
  ports.query = async (statement, send) => {
    statements.push(statement);
    if (held?.pattern.test(statement)) await held.until;
    return send();
  };
  const hold = (pattern: RegExp) => {
    let release = () => {};
    held = {
      pattern,
      until: new Promise((resolve) => {
        release = resolve;
      }),
    };
    return release;
  };
  let reacted = 0;
  const react = (delivery: Delivery) => {
    reacted++;
    return { sync, signals: itemsIn(delivery) };
  };
  const connectors = [hooked({ verify: githubSignature(), react })];
  const service = await startService(database, { engine: { ports, connectors, credentials } });
  const recipient = async () => {
    const id = await connect();
    const { secret } = await service.syncline.webhooks.create(id);
    const send = async (...items: string[]) => {
      const body = JSON.stringify({ items });
      return (await deliver(service, pathOf(id), body, asGithub(secret, body))).status;
    };
    return { id, send };
  };
  const count = (pattern: RegExp) => statements.filter((statement) => pattern.test(statement)).length;
  /** Sends in parallel and blocks BEGIN until all have arrived, so batch sizes do not vary. */
  const sendTogether = async (deliveries: number, send: (i: number) => Promise<number>) => {
    const release = hold(/^BEGIN/);
    const sent = inParallel(deliveries, send);
    await until('all of them wait for BEGIN', () => reacted === deliveries);
    release();
    return sent;
  };
  return { service, recipient, statements, count, hold, sendTogether, reactions: () => reacted };
}

const sendTo = (recipients: { send: (item: string) => Promise<number> }[], i: number, item: string) =>
  recipients[i % recipients.length]?.send(item) ?? Promise.reject(new Error('there is no recipient'));

const inParallel = <T>(count: number, make: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: count }, (_, i) => make(i)));

describe('batches: waiting deliveries share a transaction', () => {
  it('batches: 400 parallel deliveries are stored in at most ten transactions', async () => {
    const { recipient, count, sendTogether, statements } = await startReceivingService({ sync: true });
    const recipients = await inParallel(40, recipient);
    statements.length = 0;
    const sent = await sendTogether(400, (i) => sendTo(recipients, i, `item ${i}`));
    expect(new Set(sent)).toEqual(new Set([202]));
    expect(count(/^BEGIN/)).toBeLessThanOrEqual(10);
    expect(await countOf(sql, 'signals')).toBe(400);
    expect(await countOf(sql, `sync_jobs WHERE job_type = 'webhook' AND signal_count = 1`)).toBe(400);
    expect(await countOf(sql, `sync_jobs WHERE job_type = 'incremental' AND hinted`)).toBe(40);
    expect(
      await sql('SELECT sum(succeeded)::int AS jobs, sum(signals)::int AS signals FROM rollups'),
    ).toEqual([{ jobs: 800, signals: 800 }]);
  });

  it('batches: a delivery is answered only after its signals are committed', async () => {
    const { recipient, hold, count } = await startReceivingService();
    const { send } = await recipient();
    const release = hold(/^COMMIT/);
    let status: number | undefined;
    const sent = send('one').then((answer) => {
      status = answer;
    });
    await until('it is about to be committed', () => count(/^COMMIT/) > 0);
    expect(status).toBeUndefined();
    expect(await countOf(sql, 'signals')).toBe(0);
    release();
    await sent;
    expect(status).toBe(202);
    expect(await countOf(sql, 'signals')).toBe(1);
  });

  it('batches: a delivery that Postgres rejects fails alone', async () => {
    await sql(`CREATE FUNCTION refuse_poison() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN IF NEW.dedupe_key = 'poison' THEN RAISE EXCEPTION 'poison' USING ERRCODE = '23514'; END IF; RETURN NEW; END $$`);
    await sql(
      'CREATE TRIGGER refuse_poison BEFORE INSERT ON signals FOR EACH ROW EXECUTE FUNCTION refuse_poison()',
    );
    try {
      const { recipient, sendTogether } = await startReceivingService();
      const recipients = await inParallel(10, recipient);
      const sent = await sendTogether(20, (i) => sendTo(recipients, i, i === 7 ? 'poison' : `item ${i}`));
      // A delivery that cannot be stored counts as a hint: a sync fetches it.
      expect(new Set(sent)).toEqual(new Set([202]));
      expect(await countOf(sql, 'signals')).toBe(19);
      expect(await sql(`SELECT connection_id FROM sync_jobs WHERE job_type = 'incremental'`)).toEqual([
        { connection_id: recipients[7]?.id },
      ]);
    } finally {
      await sql('DROP TRIGGER refuse_poison ON signals');
      await sql('DROP FUNCTION refuse_poison');
    }
  });

  it('batches: a missing table fails the whole batch with 500, without retries', async () => {
    const { recipient, sendTogether, count, statements } = await startReceivingService();
    const recipients = await inParallel(10, recipient);
    await sql('ALTER TABLE signals RENAME TO signals_away');
    try {
      statements.length = 0;
      const sent = await sendTogether(20, (i) => sendTo(recipients, i, `item ${i}`));
      expect(new Set(sent)).toEqual(new Set([500]));
      expect(count(/^BEGIN/)).toBeLessThanOrEqual(2);
      expect(await countOf(sql, 'sync_jobs')).toBe(0);
    } finally {
      await sql('ALTER TABLE signals_away RENAME TO signals');
    }
  });

  it('batches: a locked connection delays only its own deliveries', async () => {
    const { recipient, hold, statements, count, reactions } = await startReceivingService({ sync: true });
    const [blocking, stuck, free] = [await recipient(), await recipient(), await recipient()] as const;
    const session = await database.session();
    await session.query('BEGIN');
    await session.query('SELECT FROM syncline.connections WHERE id = $1 FOR NO KEY UPDATE', [stuck.id]);
    statements.length = 0;
    const release = hold(/^BEGIN/);
    const before = blocking.send('before');
    await until('a batch has started', () => count(/^BEGIN/) > 0);
    const [first, second] = [stuck.send('first'), free.send('second')];
    await until('both wait for the next batch', () => reactions() === 3);
    release();
    // If the batch waited for the lock, all of it would fail.
    expect([await before, await second]).toEqual([202, 202]);
    await session.query('COMMIT');
    // Stored, or timed out and to be retried.
    expect([202, 503]).toContain(await first);
    expect(await stuck.send('second')).toBe(202);
  });

  it('batches: the same signal in several deliveries of a batch is stored once', async () => {
    const { recipient, sendTogether } = await startReceivingService();
    const { send } = await recipient();
    const sent = await sendTogether(30, (i) => send(`item ${i % 3}`));
    expect(new Set(sent)).toEqual(new Set([202]));
    expect(await countOf(sql, 'signals')).toBe(3);
    expect(await countOf(sql, `sync_jobs WHERE job_type = 'webhook'`)).toBe(3);
  });
});
