import { writeFileSync } from 'node:fs';
import { get } from 'node:http';
import { join } from 'node:path';
import type { Deployment } from 'kubernetes-types/apps/v1.d.ts';
import { beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { freePort } from '../../src/dev/postgres.ts';
import { tenant, useDatabase } from '../support/database.ts';
import { useProject } from '../support/package.ts';
import { startProcess } from '../support/process.ts';
import { until } from '../support/until.ts';
import { readImage } from './dockerfile.ts';
import { readYaml } from './files.ts';

const database = useDatabase();
const { sql } = database;
const project = useProject('linked');
const image = readImage('docker/app.Dockerfile');

/** As in a user's project; the runs of "hangs" end only when aborted. */
const config = `
import { defineConfig, defineConnector } from 'syncline';

const github = defineConnector({
  provider: 'github',
  name: 'GitHub',
  sync: async ({ connection, abortSignal }) => {
    if (connection.externalId === 'hangs')
      await new Promise((_, reject) => abortSignal.addEventListener('abort', () => reject(abortSignal.reason)));
    return { signals: [] };
  },
});
export default defineConfig({ connectors: [github] });
`;

/** The command of the image, as the orchestrator starts it, with free ports. */
async function startContainer(args: readonly string[], settings: Record<string, string> = {}) {
  const [serverPort, metricsPort] = [String(await freePort()), String(await freePort())];
  const env = {
    ...image.env,
    SYNCLINE_DATABASE_URL: database.url,
    SYNCLINE_SERVER_PORT: serverPort,
    SYNCLINE_METRICS_PORT: metricsPort,
    ...settings,
  };
  const [, program = ''] = image.entrypoint;
  const command = [program.replace('/app/', `${project.folder}/`), ...args];
  const [, ...check] = image.healthcheck;
  return {
    ...startProcess(process.execPath, command, { cwd: project.folder, env }),
    healthcheck: async () => (await startProcess(process.execPath, check, { env }).finished).code,
    urlOf: { http: `http://127.0.0.1:${serverPort}`, metrics: `http://127.0.0.1:${metricsPort}` },
  };
}

/** A kubelet sends the address of the pod as Host. */
const probe = (url: string) =>
  new Promise<number | undefined>((resolve) => {
    get(url, { headers: { host: '10.42.0.7:4400' } }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).on('error', () => resolve(undefined));
  });

const containerOf = (file: string) => {
  const [deployment] = readYaml<Deployment>(`kubernetes/${file}`);
  const [container] = deployment?.spec?.template.spec?.containers ?? [];
  return container as NonNullable<typeof container>;
};

describe('deploy: the command of the image as a process', () => {
  beforeAll(() => writeFileSync(join(project.folder, 'syncline.config.ts'), config));
  beforeEach(() => database.empty());

  it('EXE-10: SIGTERM ends an executor within its grace time with exit code 0 and requeues its runs', async () => {
    const { connections } = database.engine();
    for (const externalId of ['hangs', 'finishes']) {
      const { id } = await connections.create({ tenantId: tenant, provider: 'github', externalId });
      await connections.trigger(id);
    }
    const container = await startContainer(containerOf('executor.yaml').args ?? [], {
      SYNCLINE_EXECUTOR_SHUTDOWN_GRACE_SECONDS: '1',
    });
    const statuses = async () =>
      (await sql('SELECT status, attempts FROM sync_jobs ORDER BY status')).map(
        ({ status, attempts }) => `${status} ${attempts}`,
      );
    await container.until(
      'one run finished and one hangs',
      async () => (await statuses()).join() === 'running 0,succeeded 0',
    );
    expect(await container.healthcheck()).toBe(0);
    const metrics = await (await fetch(`${container.urlOf.metrics}/metrics`)).text();
    expect(metrics).toContain('sync_executor_start_lag_ms_bucket{');

    container.process.kill('SIGTERM');
    const { code, signal, stdout } = await container.finished;
    expect({ code, signal }).toEqual({ code: 0, signal: null });
    expect(stdout).toContain('"event":"stopped"');
    expect(stdout).not.toContain('"event":"abandoned"');
    expect(await statuses()).toEqual(['queued 0', 'succeeded 0']);
    expect(await sql('SELECT FROM processes')).toEqual([]);
    expect(await container.healthcheck()).toBe(1);
  });

  it('deploy: the probes of the manifests succeed for the address of a pod', async () => {
    const container = await startContainer(image.command);
    const paths = ['scheduler.yaml', 'executor.yaml', 'server.yaml'].flatMap((file) => {
      const { startupProbe, readinessProbe, livenessProbe } = containerOf(file);
      return [startupProbe, readinessProbe, livenessProbe].flatMap((one) =>
        one?.httpGet ? [one.httpGet] : [],
      );
    });
    expect(paths.length).toBeGreaterThan(5);
    for (const { port, path } of paths) {
      const url = `${container.urlOf[port as 'http' | 'metrics']}${path}`;
      await until(`${path} of ${port} answers 200`, async () => (await probe(url)) === 200);
    }
    container.process.kill('SIGTERM');
    expect((await container.finished).code).toBe(0);
  });
});
