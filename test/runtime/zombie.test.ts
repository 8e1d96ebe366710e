import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/dev/postgres.ts';
import { createSyncline, type Ports, type SynclineOptions, systemPorts } from '../../src/index.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { recordingLogger } from '../support/log.ts';
import { startProxy } from '../support/proxy.ts';
import { restartPostgres } from '../support/restart.ts';
import { sized } from '../support/size.ts';
import { until } from '../support/until.ts';
import {
  addConnections,
  allComplete,
  complete,
  connectionLost,
  countOf,
  type Fault,
  items,
  nothingPending,
  outcomes,
  pagedConnector,
  pageSize,
  pending,
  pointAt,
  pointsOf,
  type Sql,
  startWorker,
} from '../support/worker.ts';

const leaseSeconds = 2;
const executor = { leaseSeconds, concurrency: 1 };

describe('SIGSTOP: a process suspended for longer than its lease', () => {
  const database = useDatabase();
  const { sql } = database;
  let points: string[];

  beforeAll(async () => {
    await addConnections(sql, ['undisturbed']);
    // A long lease, which does not expire on a busy machine.
    const longLease = { leaseSeconds: 60, concurrency: 1 };
    const undisturbed = { database: database.url, providers: ['undisturbed'], executor: longLease };
    points = pointsOf(await startWorker({ ...undisturbed, until: 'drained' }).finished);
  });
  beforeEach(() => database.empty());

  /** The point after the connector call of the second page: its commit follows. */
  const secondCall = () => points.indexOf('sync', points.indexOf('sync') + 1) + 1;
  const places: { where: string; fault: () => Omit<Fault, 'signal'>; label: RegExp }[] = [
    {
      where: 'inside its connector',
      fault: () => ({ ...pointAt(points, secondCall() - 1), when: 'after' }),
      label: /^sync$/,
    },
    {
      where: 'before the first statement of its commit',
      fault: () => ({ ...pointAt(points, secondCall()), when: 'before' }),
      label: /^BEGIN$/,
    },
    {
      where: 'between the statements of its commit',
      fault: () => ({ ...pointAt(points, secondCall() + 4), when: 'after' }),
      label: /^WITH stored AS \( INSERT INTO signals/,
    },
  ];

  for (const { where, fault, label } of places)
    it(`EXE-5: a zombie suspended ${where} is aborted and writes nothing`, async () => {
      const slug = where.replaceAll(' ', '-');
      await addConnections(sql, [slug]);
      expect(fault().label).toMatch(label);
      const zombie = startWorker({
        database: database.url,
        providers: [slug],
        executor,
        fault: { signal: 'SIGSTOP', ...fault() },
      });
      await zombie.output(/^struck /m);
      const [claimed] = await sql(`SELECT id, claim_id FROM sync_jobs WHERE status = 'running'`);
      expect(claimed).toBeDefined();

      // The successor fetches the same page and blocks before it commits.
      let release = () => {};
      const released = new Promise<void>((resolve) => (release = resolve));
      const begun: number[] = [];
      const successor = database.engine({
        connectors: [
          pagedConnector(slug, (_, after) => {
            begun.push(after);
            return released;
          }),
        ],
        executor,
      });
      await successor.start({ roles: ['executor'] });
      // If the zombie holds locks, this waits until the server ends its transaction.
      await until('the successor runs the job', () => begun.length > 0);
      expect(begun).toEqual([pageSize]);

      zombie.process.kill('SIGCONT');
      await zombie.output(/^aborted: The run was aborted: its lease was lost/m);
      zombie.process.kill('SIGTERM');
      expect((await zombie.finished).code).toBe(0);
      const [now] = await sql('SELECT id, status, claim_id, attempts FROM sync_jobs WHERE id = $1', [
        claimed?.['id'],
      ]);
      expect(now).toMatchObject({ status: 'running', attempts: 0 });
      expect(now?.['claim_id']).not.toBe(claimed?.['claim_id']);
      expect((await outcomes(sql))[slug]).toEqual({
        items: items.slice(0, pageSize),
        cursor: { after: pageSize },
        jobs: ['succeeded', 'running'],
        attempts: 0,
      });

      release();
      await nothingPending(sql);
      expect((await outcomes(sql))[slug]).toEqual(complete);
    });

  it('EXE-9: a process suspended before a claim claims only under a new lease', async () => {
    await addConnections(sql, ['late']);
    const zombie = startWorker({
      database: database.url,
      providers: ['late'],
      executor,
      fault: {
        signal: 'SIGSTOP',
        ...pointAt(points, points.lastIndexOf('BEGIN', secondCall() - 1)),
        when: 'before',
      },
    });
    await zombie.output(/^struck {"label":"BEGIN"/m);
    const [old] = await sql('SELECT id FROM processes');
    // Without a connector for the job, this engine only reaps the expired lease.
    await database.engine({ executor }).start({ roles: ['executor'] });
    await until(
      'the lease is deleted',
      async () => (await countOf(sql, `processes WHERE id = '${old?.['id']}'`)) === 0,
    );
    expect((await outcomes(sql))['late']).toMatchObject({ jobs: ['succeeded', 'queued'] });

    zombie.process.kill('SIGCONT');
    await nothingPending(sql);
    zombie.process.kill('SIGTERM');
    expect((await zombie.finished).code).toBe(0);
    expect((await outcomes(sql))['late']).toEqual(complete);
  });
});

/** The statement that identifies each transaction: a COMMIT after it commits a claim or a result. */
const transactions = { claim: 'WITH alive', result: 'WITH stored' };

describe('a COMMIT without a response', () => {
  const database = useDatabase();
  const { sql } = database;
  beforeEach(() => database.empty());

  /** Syncs three pages; at concurrency 1, a COMMIT belongs to the preceding statements. */
  async function syncAll(slug: string, options: SynclineOptions) {
    await addConnections(sql, [slug]);
    const { log, lines } = recordingLogger('warn');
    const syncline = database.engine({
      connectors: [pagedConnector(slug)],
      executor,
      logger: log,
      ...options,
    });
    await syncline.start({ roles: ['executor'] });
    await nothingPending(sql);
    await syncline.stop();
    expect((await outcomes(sql))[slug]).toEqual(complete);
    return lines;
  }

  for (const [transaction, statement] of Object.entries(transactions)) {
    for (const isSent of [true, false]) {
      it(`EXE-5: ${transaction} COMMIT ${isSent ? 'sent' : 'unsent'}: nothing is lost or duplicated`, async () => {
        let last = '';
        let faults = 0;
        const query: Ports['query'] = async (text, send) => {
          if (/^WITH (alive|stored)/.test(text)) last = text;
          if (text !== 'COMMIT' || !last.startsWith(statement) || faults > 0) return send();
          faults++;
          if (isSent) await send();
          throw connectionLost();
        };
        const lines = await syncAll(`${transaction}-${isSent ? 'sent' : 'unsent'}`, {
          ports: { ...systemPorts, query },
        });
        expect(faults).toBe(1);
        expect(lines.some(({ msg }) => msg.includes('cannot be reached (ECONNRESET)'))).toBe(true);
        expect(lines.filter(({ msg }) => msg.includes('lease was lost'))).toEqual([]);
      });
    }

    it(`EXE-5: ${transaction} COMMIT cut off by the network: nothing is lost or duplicated`, async () => {
      const proxy = await startProxy(database.url);
      const last = new WeakMap<object, string>();
      let cuts = 0;
      proxy.cutsAfter = (sent, connection) => {
        const begun = /WITH (alive|stored)/.exec(sent)?.[0];
        if (begun) last.set(connection, begun);
        if (!sent.includes('COMMIT\0') || last.get(connection) !== statement || cuts > 0) return false;
        cuts++;
        return true;
      };
      await syncAll(`${transaction}-cut`, { database: proxy.url });
      expect(cuts).toBe(1);
    });
  }
});

describe('EXE-5: Postgres is killed while an executor runs jobs', () => {
  const folders: string[] = [];
  const slugs = Array.from({ length: sized(200, 100) }, (_, i) => `killed-${i}`);
  let server: EmbeddedPostgres;
  afterEach(() => server?.stop());
  afterAll(() => {
    for (const folder of folders) rmSync(folder, { recursive: true, force: true });
  });

  const outages = [
    { signal: 'SIGQUIT', leaseSeconds: 10, length: 'less than the lease' },
    { signal: 'SIGKILL', leaseSeconds: 2, length: 'about the lease' },
  ] as const;
  for (const { signal, leaseSeconds, length } of outages)
    it(`EXE-5: Postgres down by ${signal} for ${length}: nothing is lost or duplicated`, async () => {
      const folder = mkdtempSync(join(tmpdir(), 'syncline-killed-'));
      folders.push(folder);
      server = await startEmbeddedPostgres({ ports: systemPorts, folder, keep: true });
      const port = Number(new URL(server.url).port);
      const { log, lines } = recordingLogger('warn');
      const syncline = createSyncline({
        database: server.url,
        logger: log,
        connectors: slugs.map((slug) => pagedConnector(slug)),
        executor: { leaseSeconds, concurrency: 4 },
      });
      await syncline.migrate();
      const pool = new pg.Pool({ connectionString: server.url });
      pool.on('error', () => {});
      const sql: Sql = async <Row extends object>(text: string, values?: unknown[]) =>
        (await pool.query<Row>(text, values)).rows;
      await sql('INSERT INTO syncline.tenants (id) VALUES ($1)', [tenant]);
      await addConnections(sql, slugs);

      await syncline.start({ roles: ['executor'] });
      await until('500 signals are stored', async () => (await countOf(sql, 'syncline.signals')) > 500);
      process.kill(server.pid, signal);
      await until('it logs a retry', () => lines.some(({ msg }) => /retrying in/.test(msg)));
      await server.stop();
      server = await restartPostgres(() =>
        startEmbeddedPostgres({ ports: systemPorts, folder, keep: true, port }),
      );
      expect(await countOf(sql, pending)).toBeGreaterThan(0);
      await nothingPending(sql);
      expect(await outcomes(sql)).toEqual(allComplete(slugs));
      await syncline.stop();
      await pool.end();
    });
});
