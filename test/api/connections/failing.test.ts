import { beforeEach, describe, expect, it } from 'vitest';
import {
  CursorExpiredError,
  PermanentError,
  RateLimitedError,
  TransientError,
  UnauthorizedError,
} from '../../../src/index.ts';
import { testPorts } from '../../support/clock.ts';
import { connector, signal } from '../../support/connector.ts';
import { useDatabase } from '../../support/database.ts';

const database = useDatabase();
const { job, connect } = database;
beforeEach(() => database.empty());

const noon = new Date('2025-01-01T12:00:00Z');
const at = (minutes: number) => new Date(noon.getTime() + minutes * 60_000);

/** A connection whose runs end as requested, five minutes apart. */
async function connection(columns: Parameters<typeof connect>[0] = {}) {
  const id = await connect(columns);
  const ports = testPorts();
  let ending: () => unknown = () => ({ signals: [] });
  const engine = database.engine({ ports, connectors: [connector(() => ending())] });
  const health = async () => {
    const { health, failingSince, failure } = await engine.connections.get(id);
    return { health, failingSince, failure };
  };
  async function run(end: Error | object, type = 'incremental') {
    ending = () => {
      if (end instanceof Error) throw end;
      return end;
    };
    await database.sql(`DELETE FROM sync_jobs WHERE status = 'queued'`);
    await job(id, { job_type: type });
    await engine.drain();
    ports.advance(5 * 60_000);
    return health();
  }
  return { id, engine, run, health };
}

const ok = { health: 'ok', failingSince: undefined, failure: undefined };
const success = { signals: [signal(1)] };

describe('failingSince', () => {
  it('failingSince: set by the first failure, kept by later ones, cleared by a success', async () => {
    const { run } = await connection();
    expect(await run(success)).toEqual(ok);
    expect(await run(new TransientError('later'))).toEqual({
      health: 'failing',
      failingSince: at(5),
      failure: 'transient',
    });
    expect(await run(new Error('boom'))).toMatchObject({ failingSince: at(5), failure: 'transient' });
    expect(await run(new PermanentError('never'))).toMatchObject({
      failingSince: at(5),
      failure: 'permanent',
    });
    expect(await run(success)).toEqual(ok);
    expect(await run(new TransientError('later'))).toMatchObject({ failingSince: at(25) });
  });

  it('failingSince: a rate limit is neither failure nor success', async () => {
    const { run } = await connection();
    const limited = new RateLimitedError({ retryAfterSeconds: 1 });
    expect(await run(limited)).toEqual(ok);
    const failing = await run(new TransientError('later'));
    expect(failing.health).toBe('failing');
    expect(await run(limited)).toEqual(failing);
  });

  it('failingSince: an expired cursor counts as failing until its full sync succeeds', async () => {
    const { run } = await connection({ metadata: { sync: { cursor: 'old' } } });
    expect(await run(new CursorExpiredError())).toMatchObject({
      health: 'failing',
      failure: 'cursor_expired',
    });
    expect(await run({ signals: [], nextCursor: 'new' }, 'full')).toEqual(ok);
  });

  it.each(['full', 'webhook'])(
    'failingSince: a successful %s run without a cursor clears it',
    async (type) => {
      const { run } = await connection();
      expect(await run(new TransientError('later'), type)).toMatchObject({ health: 'failing' });
      expect(await run({ signals: [] }, type)).toEqual(ok);
    },
  );

  it('failingSince: rejected credentials show as needs_auth, and resume() clears it', async () => {
    const { id, engine, run, health } = await connection();
    expect(await run(new UnauthorizedError('revoked'))).toEqual({
      health: 'needs_auth',
      failingSince: noon,
      failure: 'unauthorized',
    });
    await engine.connections.resume(id);
    expect(await health()).toEqual(ok);
  });

  it('failingSince: a pause keeps it, and health shows the pause', async () => {
    const { id, engine, run, health } = await connection();
    await run(new TransientError('later'));
    await engine.connections.pause(id);
    expect(await health()).toEqual({ health: 'paused', failingSince: noon, failure: 'transient' });
    await engine.connections.resume(id);
    expect(await health()).toEqual(ok);
  });
});
