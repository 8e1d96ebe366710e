import { execFileSync, spawnSync } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { chownSync, mkdtempSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '../../src/dev/postgres.ts';
import { createSyncline, type SynclineOptions, systemPorts } from '../../src/index.ts';
import { silent } from '../support/database.ts';
import { startOwnKeys } from '../support/own-keys.ts';
import { until } from '../support/until.ts';
import { finding, findingsIn } from './findings.ts';

const hasOpenssl = spawnSync('openssl', ['version']).status === 0;

describe('doctor: network, connections and slots of a server', () => {
  let server: EmbeddedPostgres;
  let folder: string;
  const onServer = async (text: string) => {
    const client = new pg.Client({ connectionString: server.url });
    await client.connect();
    return (await client.query(text).finally(() => client.end())).rows as Record<string, string>[];
  };
  const doctor = async (options: SynclineOptions) => {
    const engine = createSyncline({ logger: silent, ...options });
    return engine.doctor().finally(() => engine.stop());
  };
  const urlWith = (change: (url: URL) => void) => {
    const url = new URL(server.url);
    change(url);
    return url.href;
  };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'syncline-network-'));
    server = await startEmbeddedPostgres({
      ports: systemPorts,
      folder,
      keep: false,
      settings: { max_connections: '30', max_wal_size: '32MB', wal_level: 'replica' },
    });
    const engine = createSyncline({ database: server.url, logger: silent });
    await engine.migrate().finally(() => engine.stop());
  });
  afterAll(() => server?.stop());

  it('doctor: reports an unencrypted connection to another host', async () => {
    // Reaches this machine, but is not a loopback address.
    const url = urlWith((to) => {
      to.hostname = '0.0.0.0';
    });
    expect(findingsIn(await doctor({ database: url }), 'encryption')).toEqual([
      finding('warning', /^The connection to 0\.0\.0\.0 is not encrypted/, /sslmode=verify-full/),
    ]);
    const asListener = await doctor({ database: { url: server.url, notifyUrl: url } });
    expect(findingsIn(asListener, 'encryption')).toEqual([
      finding('warning', /is not encrypted/, /SYNCLINE_DATABASE_NOTIFY_URL/),
    ]);
    expect(findingsIn(await doctor({ database: server.url }), 'encryption')).toEqual([]);
    await expect(doctor({ database: `${server.url}?sslmode=verify-full` })).rejects.toMatchObject({
      hint: expect.stringMatching(/^The server offers no TLS/),
    });
  });

  it('doctor: reports a Postgres version after its end of life', async () => {
    const years = 10;
    const databaseTime = () => new Date(Date.now() + years * 366 * 86_400_000);
    const later = await doctor({ database: server.url, ports: { ...systemPorts, databaseTime } });
    expect(findingsIn(later, 'server version')).toEqual([
      finding('warning', /^Postgres \S+ .*reached its end of life on 20\d\d-11-\d\d/, /Upgrade the server/),
    ]);
    expect(findingsIn(await doctor({ database: server.url }), 'server version')).toEqual([]);
  });

  it('doctor: reports pools of all processes that together exceed max_connections', async () => {
    const process = (host: string) =>
      `INSERT INTO syncline.processes (id, host, pid, concurrency, providers, clock_skew_seconds, started_at, expires_at)
       VALUES ('${randomUUID()}', '${host}', 1, 50, '{}', 0, now(), now() + interval '1 hour')`;
    await onServer(process(hostname()));
    // The same process: it must not count twice.
    await onServer(
      `INSERT INTO syncline.schedulers (id, host, pid, started_at, ticked_at, tick_ms, scheduled, clock_skew_seconds)
       VALUES ('${randomUUID()}', '${hostname()}', 1, now(), now(), 1, 0, 0)`,
    );
    const name = 'connections of all processes';
    const report = await doctor({ database: server.url });
    expect(findingsIn(report, name)).toEqual([]);
    expect(report.checks.find((check) => check.name === name)?.detail).toMatch(/^up to 11 of \d+$/);
    await onServer(process('worker-2'));
    await onServer(process('worker-3'));
    expect(findingsIn(await doctor({ database: server.url }), name)).toEqual([
      finding(
        'warning',
        /^3 processes with a pool of 10 can open up to 33 connections; the server has \d\d for them/,
        /SYNCLINE_DATABASE_POOL_SIZE/,
      ),
    ]);
    const pooler = await startOwnKeys(server.url);
    const pooled = await doctor({ database: pooler.url }).finally(() => pooler.stop());
    expect(findingsIn(pooled, name)).toEqual([]);
    await onServer('DELETE FROM syncline.processes; DELETE FROM syncline.schedulers');
  });

  it('doctor: reports an inactive replication slot that retains WAL without a limit', async () => {
    await onServer(`SELECT pg_create_physical_replication_slot('gone', true)`);
    const found = async () => findingsIn(await doctor({ database: server.url }), 'replication slots');
    expect(await found()).toEqual([]);
    for (let segments = 0; segments < 4; segments++) {
      await onServer(`SELECT pg_logical_emit_message(false, 'test', 'x')`);
      await onServer('SELECT pg_switch_wal()');
    }
    expect(await found()).toEqual([
      finding(
        'warning',
        /^Replication slot "gone" \(physical\) is inactive and retains \d\d+ MB of WAL/,
        /^SELECT pg_drop_replication_slot\('gone'\); or ALTER SYSTEM SET max_slot_wal_keep_size/,
      ),
    ]);
    await onServer(`SELECT pg_drop_replication_slot('gone')`);
    expect(await found()).toEqual([]);
  });

  it.skipIf(!hasOpenssl)('doctor: names the URL parameter that a server with TLS requires', async () => {
    const [row] = await onServer(
      `SELECT current_setting('data_directory') AS data, current_setting('hba_file') AS hba`,
    );
    const { data = '', hba = '' } = row ?? {};
    const [certificate, key] = [join(folder, 'server.crt'), join(folder, 'server.key')];
    const subject = ['-subj', '/CN=localhost', '-addext', 'subjectAltName=IP:127.0.0.1,IP:0.0.0.0'];
    const files = ['-keyout', key, '-out', certificate];
    execFileSync('openssl', ['req', '-x509', '-newkey', 'rsa:2048', '-nodes', ...files, ...subject], {
      stdio: 'ignore',
    });
    const { uid, gid } = statSync(data);
    if (process.getuid?.() === 0) for (const file of [certificate, key]) chownSync(file, uid, gid);
    for (const [name, value] of Object.entries({ ssl: 'on', ssl_cert_file: certificate, ssl_key_file: key }))
      await onServer(`ALTER SYSTEM SET ${name} = '${value}'`);
    const rules = readFileSync(hba, 'utf8');
    writeFileSync(hba, `hostnossl all all all reject\n${rules}`);
    await onServer('SELECT pg_reload_conf()');

    const withTls = (parameters: string) => `${server.url}?${parameters}`;
    const trusted = withTls(`sslmode=verify-full&sslrootcert=${certificate}`);
    await until('the server requires TLS', async () =>
      doctor({ database: trusted }).then(
        () => true,
        () => false,
      ),
    );
    await expect(doctor({ database: server.url })).rejects.toMatchObject({
      code: 'DATABASE_REFUSED',
      hint: 'The server requires TLS: add sslmode=verify-full to the database URL.',
    });
    await expect(doctor({ database: withTls('sslmode=verify-full') })).rejects.toMatchObject({
      code: 'DATABASE_UNREACHABLE',
      hint: 'The certificate is not trusted: add sslrootcert=<CA file> to the database URL.',
    });
    const unverified = urlWith((to) => {
      to.hostname = '0.0.0.0';
      to.search = 'sslmode=no-verify';
    });
    expect(findingsIn(await doctor({ database: unverified }), 'encryption')).toEqual([
      finding('warning', /^The certificate of 0\.0\.0\.0 is not verified/, /sslrootcert=<file>/),
    ]);
    const verified = urlWith((to) => {
      to.hostname = '0.0.0.0';
      to.search = `sslmode=verify-full&sslrootcert=${certificate}`;
    });
    expect(findingsIn(await doctor({ database: verified }), 'encryption')).toEqual([]);
  });
});
