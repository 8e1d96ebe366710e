import { randomUUID } from 'node:crypto';
import { request } from 'node:http';
import { beforeEach, describe, expect, it } from 'vitest';
import {
  githubReaction,
  githubSignature,
  hmacSignature,
  slackReaction,
  slackSignature,
} from '../../src/contract/signatures.ts';
import type { Reaction } from '../../src/contract/webhook.ts';
import type { Connector, SynclineOptions } from '../../src/index.ts';
import { startService } from '../http/service.ts';
import { testPorts } from '../support/clock.ts';
import { connector, signal } from '../support/connector.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { recordingLogger } from '../support/log.ts';
import { until } from '../support/until.ts';
import { connectionLost, countOf } from '../support/worker.ts';
import { asGithub, asShop, asSlack, credentials, deliver, hooked, pathOf } from './webhook-connector.ts';

const database = useDatabase();
const { sql, connect } = database;
const body = JSON.stringify({ action: 'opened', number: 7 });
const appSecret = 'the secret of the whole app';

const connectors: Connector[] = [
  hooked({ verify: githubSignature(), react: githubReaction }),
  hooked({ secret: appSecret, verify: slackSignature(), react: slackReaction }, { provider: 'slack' }),
  hooked({ verify: hmacSignature({ header: 'x-shop-hmac', encoding: 'base64' }) }, { provider: 'shop' }),
  connector(undefined, 'silent'),
];

const start = (engine: SynclineOptions = {}) =>
  startService(database, { engine: { connectors, credentials, ...engine } });

async function connection(provider = 'github', status = 'active', owner = tenant): Promise<string> {
  const id = await connect({ status });
  await sql('UPDATE connections SET provider_slug = $2, tenant_id = $3 WHERE id = $1', [id, provider, owner]);
  return id;
}

const pendingJobs = (id: string) =>
  sql<{ due: boolean }>(
    `SELECT job_type, status, priority, scheduled_at <= now() AS due FROM sync_jobs WHERE connection_id = $1`,
    [id],
  );
const placed = [{ job_type: 'incremental', status: 'queued', priority: 0, due: true }];

beforeEach(async () => {
  await database.empty();
  await sql(`INSERT INTO providers (slug) VALUES ('slack'), ('shop'), ('silent') ON CONFLICT DO NOTHING`);
});

describe('webhooks: a valid signature is accepted', () => {
  it('webhooks: a delivery signed by GitHub, Slack or HMAC queues a sync', async () => {
    const service = await start();
    const { webhooks } = service.syncline;
    const [github, shop, slack, ownSlack] = [
      await connection(),
      await connection('shop'),
      await connection('slack'),
      await connection('slack'),
    ] as const;
    const secrets = [await webhooks.create(github), await webhooks.create(shop)].map(({ secret }) => secret);
    const own = await webhooks.create(ownSlack, { secret: 'a signing secret of its own' });
    const deliveries = [
      [github, 'github', asGithub(secrets[0] ?? '', body)],
      [shop, 'shop', asShop(secrets[1] ?? '', body)],
      [slack, 'slack', asSlack(appSecret, body, Date.now())],
      [ownSlack, 'slack', asSlack(own.secret, body, Date.now())],
    ] as const;
    for (const [id, provider, headers] of deliveries) {
      const answer = await deliver(service, pathOf(id, provider), body, headers);
      expect([answer.status, answer.body], provider).toEqual([202, { accepted: true }]);
      expect(await pendingJobs(id), provider).toEqual(placed);
    }
    // The app's secret is not valid for a connection that has its own.
    const { status } = await deliver(
      service,
      pathOf(ownSlack, 'slack'),
      body,
      asSlack(appSecret, body, Date.now()),
    );
    expect(status).toBe(401);
  });

  it('webhooks: accepts binary and empty bodies, and bodies above the API limit', async () => {
    const service = await start();
    const id = await connection();
    const { secret } = await service.syncline.webhooks.create(id);
    const bytes = Buffer.alloc(3 * 1024 * 1024, Buffer.from([0, 255, 254, 0xd8, 10]));
    for (const sent of [bytes, Buffer.alloc(0)]) {
      const { status } = await deliver(service, pathOf(id), sent, asGithub(secret, sent));
      expect(status).toBe(202);
    }
  });

  it("webhooks: answers Slack's challenge and accepts GitHub's ping without a sync", async () => {
    const service = await start();
    const [slack, github] = [await connection('slack'), await connection()] as const;
    const challenge = JSON.stringify({ type: 'url_verification', challenge: 'are you there?' });
    const answer = await deliver(
      service,
      pathOf(slack, 'slack'),
      challenge,
      asSlack(appSecret, challenge, Date.now()),
    );
    expect([answer.status, answer.body]).toEqual([200, { challenge: 'are you there?' }]);
    const { secret } = await service.syncline.webhooks.create(github);
    const headers = { ...asGithub(secret, '{}'), 'x-github-event': 'ping' };
    expect((await deliver(service, pathOf(github), '{}', headers)).status).toBe(202);
    expect(await countOf(sql, 'sync_jobs')).toBe(0);
  });

  it('webhooks: a string reply is sent as text/plain', async () => {
    const service = await start({
      connectors: [hooked({ verify: githubSignature(), react: () => ({ reply: 'OK <b>' }) })],
    });
    const id = await connection();
    const { secret } = await service.syncline.webhooks.create(id);
    const { status, text, headers } = await deliver(service, pathOf(id), body, asGithub(secret, body));
    expect([status, text]).toEqual([200, 'OK <b>']);
    expect(headers.get('content-type')).toMatch(/^text\/plain/);
  });

  it.each(['paused', 'needs_auth', 'disabled'])(
    'webhooks: a delivery for a %s connection is accepted and ignored',
    async (status) => {
      const react = () => ({ signals: [signal('one', 'key')] });
      const service = await start({ connectors: [hooked({ verify: githubSignature(), react })] });
      const id = await connection('github', status);
      const { secret } = await service.syncline.webhooks.create(id);
      expect((await deliver(service, pathOf(id), body, asGithub(secret, body))).status).toBe(202);
      expect(await countOf(sql, 'sync_jobs')).toBe(0);
      expect(await countOf(sql, 'signals')).toBe(0);
    },
  );

  it('webhooks: a connection paused during a delivery gets neither signals nor jobs', async () => {
    const react = () => ({ signals: [signal('one', 'key')] });
    const ports = testPorts(new Date().toISOString());
    const service = await start({ ports, connectors: [hooked({ verify: githubSignature(), react })] });
    const id = await connection();
    const { secret } = await service.syncline.webhooks.create(id);
    ports.query = async (statement, send) => {
      const answer = await send();
      if (/LEFT JOIN/.test(statement))
        await sql(`UPDATE connections SET status = 'paused' WHERE id = $1`, [id]);
      return answer;
    };
    expect((await deliver(service, pathOf(id), body, asGithub(secret, body))).status).toBe(202);
    expect(await countOf(sql, 'sync_jobs')).toBe(0);
    expect(await countOf(sql, 'signals')).toBe(0);
  });

  it('webhooks: last_received_at is written at most once a minute', async () => {
    const ports = testPorts(new Date().toISOString());
    let writes = 0;
    ports.query = (statement, send) => {
      if (/last_received_at = /.test(statement)) writes++;
      return send();
    };
    const service = await start({ ports });
    const id = await connection();
    const { webhooks } = service.syncline;
    const { secret } = await webhooks.create(id);
    expect((await webhooks.get(id)).lastReceivedAt).toBeUndefined();
    const startMs = ports.now();
    await Promise.all(
      Array.from({ length: 20 }, () => deliver(service, pathOf(id), body, asGithub(secret, body))),
    );
    expect((await webhooks.get(id)).lastReceivedAt?.getTime()).toBe(startMs);
    ports.advance(59_000);
    await deliver(service, pathOf(id), body, asGithub(secret, body));
    expect((await webhooks.get(id)).lastReceivedAt?.getTime()).toBe(startMs);
    const before = writes;
    await deliver(service, pathOf(id), body, asGithub(secret, body));
    expect(writes).toBe(before);
    ports.advance(2000);
    await deliver(service, pathOf(id), body, asGithub('wrong secret, long enough', body));
    expect(writes).toBe(before);
    await deliver(service, pathOf(id), body, asGithub(secret, body));
    expect((await webhooks.get(id)).lastReceivedAt?.getTime()).toBe(startMs + 61_000);
  });
});

describe('webhooks: an invalid delivery is rejected without details', () => {
  it('webhooks: every invalid delivery gets the same response by the same statements', async () => {
    const statements: string[] = [];
    const ports = testPorts(new Date().toISOString());
    ports.query = (statement, send) => {
      statements.push(statement);
      return send();
    };
    const service = await start({ ports });
    const { syncline } = service;
    const other = await syncline.tenants.create({ name: 'another' });
    const [id, foreign, without, removed, slack, silent] = [
      await connection(),
      await connection('github', 'active', other.id),
      await connection(),
      await connection(),
      await connection('slack'),
      await connection('silent'),
    ] as const;
    const { secret } = await syncline.webhooks.create(id);
    const { secret: foreignSecret } = await syncline.webhooks.create(foreign);
    const { secret: removedSecret } = await syncline.webhooks.create(removed);
    await syncline.webhooks.delete(removed);
    const right = asGithub(secret, body);
    const late = asSlack(appSecret, body, ports.now() - 301_000);
    const early = asSlack(appSecret, body, ports.now() + 302_000);
    const attempts: Record<string, [string, string, Record<string, string>]> = {
      'no signature': [pathOf(id), body, {}],
      'another secret': [pathOf(id), body, asGithub('another secret entirely', body)],
      'no secret': [pathOf(id), body, asGithub('', body)],
      'one byte more': [pathOf(id), `${body} `, right],
      'one byte changed': [pathOf(id), body.replace('7', '8'), right],
      garbage: [pathOf(id), body, { 'x-hub-signature-256': '%%%' }],
      'cut off': [pathOf(id), body, { 'x-hub-signature-256': right['x-hub-signature-256'].slice(0, -1) }],
      'the secret of another tenant': [pathOf(id), body, asGithub(foreignSecret, body)],
      'the connection of another tenant': [pathOf(foreign), body, right],
      'a connection without a webhook': [pathOf(without), body, right],
      'a connection whose webhook was deleted': [pathOf(removed), body, asGithub(removedSecret, body)],
      'the connection of another provider': [pathOf(slack), body, asSlack(appSecret, body, ports.now())],
      'another provider of the connection': [
        pathOf(id, 'slack'),
        body,
        asSlack(appSecret, body, ports.now()),
      ],
      'a connection without a secret, through the app of another provider': [
        pathOf(without, 'slack'),
        body,
        asSlack(appSecret, body, ports.now()),
      ],
      'an unknown connection': [pathOf(randomUUID()), body, right],
      'no connection': [pathOf('nothing'), body, right],
      'an unknown provider': [pathOf(id, 'unknown'), body, right],
      'a provider without a webhook': [pathOf(silent, 'silent'), body, right],
      'an inherited name for a provider': [pathOf(id, 'constructor'), body, right],
      'too late': [pathOf(slack, 'slack'), body, late],
      'too early': [pathOf(slack, 'slack'), body, early],
    };
    const answers = new Set<string>();
    const steps = new Set<string>();
    for (const [what, [path, sent, sentHeaders]] of Object.entries(attempts)) {
      statements.length = 0;
      const answer = await deliver(service, path, sent, sentHeaders);
      expect(answer.status, what).toBe(401);
      const { date: _, ...headers } = Object.fromEntries(answer.headers);
      answers.add(`${answer.text} ${JSON.stringify(headers)}`);
      steps.add(statements.join('; '));
    }
    expect([...answers]).toHaveLength(1);
    expect([...steps]).toHaveLength(1);
    expect([...steps][0]).toMatch(/^SELECT [^;]*$/);
    expect(await countOf(sql, 'sync_jobs')).toBe(0);
    expect(await countOf(sql, 'webhooks WHERE last_received_at IS NOT NULL')).toBe(0);
  });

  it('webhooks: a verify that throws or returns anything but true rejects the delivery', async () => {
    const verdicts: unknown[] = [1, 'yes', Promise.resolve(true), undefined];
    for (const verify of [
      ...verdicts.map((verdict) => () => verdict as boolean),
      () => {
        throw new Error('broken');
      },
    ]) {
      const service = await start({ connectors: [hooked({ secret: appSecret, verify })] });
      const { status } = await deliver(service, pathOf(await connection()), body, {});
      expect(status).toBe(401);
    }
  });

  it('webhooks: rejects methods other than POST', async () => {
    const service = await start();
    const path = pathOf(await connection());
    expect((await service.call(path, { key: undefined })).status).toBe(401);
    expect((await service.call(path, { method: 'PUT', json: {} })).status).toBe(405);
  });
});

describe('webhooks: a delivery that cannot be stored is to be retried', () => {
  it('webhooks: a connection lost at any statement gives 503 with Retry-After', async () => {
    const id = await connection();
    const { secret } = await (await start()).syncline.webhooks.create(id);
    const react = () => ({ signals: [signal('one', 'key')] });
    const rejected: string[] = [];
    for (let failing = 0; failing < 40; failing++) {
      const ports = testPorts(new Date().toISOString());
      const service = await start({ ports, connectors: [hooked({ verify: githubSignature(), react })] });
      let sent = 0;
      ports.query = (statement, send) => {
        if (statement !== 'ROLLBACK' && sent++ === failing) return Promise.reject(connectionLost());
        return send();
      };
      const answer = await deliver(service, pathOf(id), body, asGithub(secret, body));
      ports.query = (_statement, send) => send();
      await service.server.close();
      if (answer.status === 202) break;
      expect(answer.status, String(failing)).toBe(503);
      expect(answer.headers.get('retry-after'), String(failing)).toBe('5');
      expect(answer.text).not.toMatch(/ECONNRESET|127\.0\.0\.1/);
      rejected.push(String(failing));
    }
    expect(rejected.length).toBeGreaterThan(8);
    // Retried until it was accepted: everything is stored once.
    expect(await sql(`SELECT job_type FROM sync_jobs ORDER BY 1`)).toEqual([
      { job_type: 'incremental' },
      { job_type: 'webhook' },
    ]);
    expect(await countOf(sql, 'signals')).toBe(1);
  });

  it('webhooks: a locked connection gives 503 with Retry-After', async () => {
    const service = await start();
    const id = await connection();
    const { secret } = await service.syncline.webhooks.create(id);
    const holder = await database.session();
    await holder.query('BEGIN');
    await holder.query('SELECT FROM syncline.connections WHERE id = $1 FOR UPDATE', [id]);
    const answer = await deliver(service, pathOf(id), body, asGithub(secret, body));
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '5']);
    const delivery = { method: 'POST', headers: asGithub(secret, body), body: Buffer.from(body) };
    await expect(service.syncline.webhooks.deliver('github', id, delivery)).rejects.toMatchObject({
      code: 'DATABASE_REFUSED',
    });
    await holder.query('ROLLBACK');
    expect((await deliver(service, pathOf(id), body, asGithub(secret, body))).status).toBe(202);
  });

  it('webhooks: a body above the limit gives 413, with Content-Length or chunked', async () => {
    const service = await startService(database, {
      engine: { connectors, credentials },
      limits: { deliveryBytes: 1000 },
    });
    const id = await connection();
    const { secret } = await service.syncline.webhooks.create(id);
    for (const [size, status] of [
      [1000, 202],
      [1001, 413],
    ] as const) {
      const sent = 'x'.repeat(size);
      expect((await deliver(service, pathOf(id), sent, asGithub(secret, sent))).status).toBe(status);
    }
    const { hostname: host, port } = new URL(service.url);
    const status = await new Promise((resolve, reject) => {
      const sending = request({ host, port, method: 'POST', path: pathOf(id) }, (response) => {
        response.resume();
        resolve(response.statusCode);
      });
      sending.on('error', reject);
      sending.write('x'.repeat(600));
      sending.end('x'.repeat(600));
    });
    expect(status).toBe(413);
  });

  it('webhooks: the total of received bytes is bounded, not the total of announced ones', async () => {
    const service = await startService(database, {
      engine: { connectors, credentials },
      limits: { deliveryBytes: 1000, deliveriesBytes: 1500 },
    });
    const id = await connection();
    const { secret } = await service.syncline.webhooks.create(id);
    const { hostname: host, port } = new URL(service.url);
    const options = { host, port, method: 'POST', path: pathOf(id), headers: { 'content-length': '1000' } };
    const slow = request(options).on('error', () => {});
    slow.flushHeaders();
    const send = (size: number) => {
      const sent = 'x'.repeat(size);
      return deliver(service, pathOf(id), sent, asGithub(secret, sent));
    };
    expect((await send(1000)).status).toBe(202);
    slow.write('x'.repeat(900));
    await until('the bytes are received', async () => (await send(1000)).status === 503);
    expect((await send(1000)).headers.get('retry-after')).toBe('5');
    expect((await send(500)).status).toBe(202);
    slow.destroy();
    await until('the bytes are released', async () => (await send(1000)).status === 202);
  });
});

describe('webhooks: a delivery whose reaction fails counts as a hint', () => {
  const reactions: Record<string, () => Reaction | Promise<Reaction>> = {
    throws: () => {
      throw new Error('cannot react');
    },
    rejects: () => Promise.reject(new Error('cannot react')),
    'returns an invalid result': () => ({ signals: 'many' }) as unknown as Reaction,
    'returns a reply that cannot be sent': () => ({ sync: false, reply: () => {} }),
    'returns invalid signals': () => ({ sync: false, signals: [{ kind: '' }] }) as unknown as Reaction,
  };
  it.each(Object.entries(reactions))(
    'webhooks: a react that %s is logged once, and the delivery is a hint',
    async (_, react) => {
      const { log, lines } = recordingLogger('warn');
      const service = await start({
        logger: log,
        connectors: [hooked({ verify: githubSignature(), react })],
      });
      const id = await connection();
      const { secret } = await service.syncline.webhooks.create(id);
      for (let i = 0; i < 3; i++)
        expect((await deliver(service, pathOf(id), body, asGithub(secret, body))).status).toBe(202);
      expect(await pendingJobs(id)).toEqual(placed);
      expect(lines).toEqual([expect.objectContaining({ event: 'webhook', provider: 'github' })]);
    },
  );

  it('webhooks: a react that never resolves times out after 2 s', async () => {
    const ports = testPorts(new Date().toISOString());
    const react = () => new Promise<Reaction>(() => {});
    const service = await start({ ports, connectors: [hooked({ verify: githubSignature(), react })] });
    const id = await connection();
    const { secret } = await service.syncline.webhooks.create(id);
    const answered = deliver(service, pathOf(id), body, asGithub(secret, body));
    // The first sleep bounds the time to read the body.
    await until('the reaction has a timeout', () => ports.sleeps.at(-1) === 2000);
    ports.wake();
    expect((await answered).status).toBe(202);
    expect(await pendingJobs(id)).toEqual(placed);
  });

  it('webhooks: a config that does not match its schema counts as a failed reaction', async () => {
    const { z } = await import('zod');
    const seen: unknown[] = [];
    const strict = {
      ...hooked({
        verify: githubSignature(),
        react: (_delivery, { config }) => {
          seen.push(config);
          return { sync: false };
        },
      }),
      configSchema: z.object({ repository: z.string() }),
    };
    const service = await start({ connectors: [strict] });
    const id = await connection();
    const { secret } = await service.syncline.webhooks.create(id);
    const send = () => deliver(service, pathOf(id), body, asGithub(secret, body));
    await sql(`UPDATE connections SET config = '{"repository":"acme/app","other":1}' WHERE id = $1`, [id]);
    expect((await send()).status).toBe(202);
    expect(await countOf(sql, 'sync_jobs')).toBe(0);
    await sql(`UPDATE connections SET config = '{"repository":7}' WHERE id = $1`, [id]);
    expect((await send()).status).toBe(202);
    expect(await pendingJobs(id)).toEqual(placed);
    expect(seen).toEqual([{ repository: 'acme/app' }]);
  });
});

describe('webhooks: a secret that cannot be decrypted', () => {
  it('webhooks: responds 503 until its key is back, logs once, and doctor names the key', async () => {
    const service = await start();
    const id = await connection();
    const { secret } = await service.syncline.webhooks.create(id);
    const headers = asGithub(secret, body);
    const otherKey = `main:${Buffer.alloc(32, 8).toString('base64')}`;
    for (const keys of [[], [`new:${Buffer.alloc(32, 9).toString('base64')}`], [otherKey]]) {
      const { log, lines } = recordingLogger('trace');
      const without = await start({ credentials: { keys }, logger: log });
      for (let i = 0; i < 3; i++) {
        const answer = await deliver(without, pathOf(id), body, headers);
        expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '60']);
        expect(answer.body).toMatchObject({ code: 'UNAVAILABLE' });
      }
      expect(
        lines.filter(({ msg }) => /secret of a webhook cannot be decrypted/.test(String(msg))),
      ).toHaveLength(1);
      expect(JSON.stringify(lines)).not.toContain(secret);
      // An invalid delivery still gets 401.
      expect((await deliver(without, pathOf(randomUUID()), body, headers)).status).toBe(401);
      const { checks } = await without.syncline.doctor();
      expect(JSON.stringify(checks)).toMatch(/rows of webhooks(:| cannot be decrypted with their key)/);
    }
    expect(await pendingJobs(id)).toEqual([]);
    expect((await deliver(service, pathOf(id), body, headers)).status).toBe(202);
    expect(await pendingJobs(id)).toEqual(placed);
  });
});
