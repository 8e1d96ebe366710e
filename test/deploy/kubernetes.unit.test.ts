import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Deployment } from 'kubernetes-types/apps/v1.d.ts';
import type { HorizontalPodAutoscaler } from 'kubernetes-types/autoscaling/v2.d.ts';
import type { Job } from 'kubernetes-types/batch/v1.d.ts';
import type { ConfigMap, PodSpec, Probe, Secret, Service } from 'kubernetes-types/core/v1.d.ts';
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.d.ts';
import { describe, expect, it } from 'vitest';
import { closingMs } from '../../src/cli/service.ts';
import { configOf, expectAllRoles, expectCommand, isInstalled, readYaml, root } from './files.ts';

type Manifest = (
  | Deployment
  | Job
  | Service
  | ConfigMap
  | Secret
  | PodDisruptionBudget
  | HorizontalPodAutoscaler
) & {
  kind: string;
  apiVersion: string;
};

const folder = 'kubernetes';
const files = readdirSync(join(root, 'deploy', folder)).filter(
  (file) => file.endsWith('.yaml') && file !== 'kustomization.yaml',
);
const manifests = files.flatMap((file) => readYaml<Manifest>(`${folder}/${file}`));
const ofKind = <T>(kind: string) => manifests.filter((manifest) => manifest.kind === kind) as unknown as T[];
const deployments = ofKind<Deployment>('Deployment');
const nameOf = ({ metadata }: { metadata?: { name?: string } }) => metadata?.name as string;
const podOf = ({ spec }: Deployment | Job) => spec?.template.spec as PodSpec;
const containerOf = (workload: Deployment | Job) => {
  const [container, ...others] = podOf(workload).containers;
  expect(others).toEqual([]);
  return container as NonNullable<typeof container>;
};
const workloads = [...deployments, ...ofKind<Job>('Job')];

const [configMap] = ofKind<ConfigMap>('ConfigMap');
const secretNamed = (name: string) => ofKind<Secret>('Secret').find((secret) => nameOf(secret) === name);
const config = configOf({ ...configMap?.data, ...secretNamed('syncline')?.stringData });

const modules: Record<string, string> = { v1: 'core/v1' };

/** Compiles each manifest as a literal of its type, which rejects unknown and missing fields. */
function compile(sources: string[]): string {
  const cache = join(root, 'node_modules/.cache/syncline-deploy');
  mkdirSync(cache, { recursive: true });
  const project = mkdtempSync(join(cache, 'manifests-'));
  try {
    writeFileSync(join(project, 'manifests.ts'), sources.join('\n'));
    const options = ['--noEmit', '--strict', '--skipLibCheck', '--types', '', '--ignoreConfig'];
    const tsc = join(root, 'node_modules/typescript/bin/tsc');
    const args = [tsc, ...options, '--module', 'nodenext', join(project, 'manifests.ts')];
    const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' });
    return stdout + stderr;
  } finally {
    rmSync(project, { recursive: true, force: true });
  }
}

const literal = ({ apiVersion, kind, ...rest }: Manifest, index: number) =>
  `export const m${index}: import('kubernetes-types/${modules[apiVersion] ?? apiVersion}.d.ts').${kind} = ` +
  `${JSON.stringify({ apiVersion, kind, ...rest })};`;

describe('deploy: the Kubernetes manifests', () => {
  it('deploy: every manifest matches the type of its Kubernetes API, without unknown fields', () => {
    expect(manifests.length).toBeGreaterThan(10);
    expect(compile(manifests.map(literal))).toBe('');
    const [wrong] = deployments.map((deployment) => structuredClone(deployment));
    Object.assign(podOf(wrong as Deployment), { terminationGracePeriod: 30 });
    expect(compile([literal(wrong as Manifest, 0)])).toMatch(
      /terminationGracePeriod.* does not exist in type 'PodSpec'/,
    );
  });

  it.skipIf(!isInstalled('kubectl', 'version', '--client'))('deploy: kustomize builds all resources', () => {
    const built = execFileSync('kubectl', ['kustomize', join(root, 'deploy', folder)], { encoding: 'utf8' });
    expect(built.match(/^kind: /gm)).toHaveLength(
      manifests.filter(({ kind }) => kind !== 'Secret' && kind !== 'Job').length,
    );
  });

  it('deploy: every container starts a command of the CLI, and together they run all roles', async () => {
    for (const workload of workloads) await expectCommand(containerOf(workload).args ?? []);
    expectAllRoles(workloads.map((workload) => containerOf(workload).args ?? []));
  });

  it('deploy: every container takes its settings from a ConfigMap and a Secret that exist', () => {
    const names = [configMap, secretNamed('syncline'), secretNamed('syncline-owner')].map((from) =>
      nameOf(from ?? {}),
    );
    for (const { envFrom = [], env } of workloads.map(containerOf)) {
      expect(env).toBeUndefined();
      for (const { configMapRef, secretRef } of envFrom)
        expect(names).toContain((configMapRef ?? secretRef)?.name);
    }
    expect(secretNamed('syncline-owner')?.stringData).toHaveProperty('SYNCLINE_DATABASE_URL');
  });

  it('deploy: probes use ports that the process listens on', () => {
    const portOf: Record<string, number> = { http: config.server.port, metrics: config.metrics.port };
    const served: Record<string, string[]> = { http: ['/healthz', '/readyz'], metrics: ['/healthz'] };
    for (const deployment of deployments) {
      const { ports = [], startupProbe, livenessProbe, readinessProbe, args } = containerOf(deployment);
      for (const { name, containerPort } of ports) expect(containerPort).toBe(portOf[name ?? '']);
      const probes = [startupProbe, livenessProbe, readinessProbe].filter((probe) => probe !== undefined);
      expect(probes.length).toBeGreaterThanOrEqual(2);
      for (const { httpGet } of probes as Probe[]) {
        expect(ports.map(({ name }) => name)).toContain(httpGet?.port);
        expect(served[String(httpGet?.port)]).toContain(httpGet?.path);
      }
      if (args?.includes('server')) expect(ports.map(({ name }) => name)).toContain('http');
      const { annotations } = deployment.spec?.template.metadata ?? {};
      expect(annotations?.['prometheus.io/port']).toBe(String(config.metrics.port));
    }
    expect([config.server.host, config.metrics.host]).toEqual(['0.0.0.0', '0.0.0.0']);
  });

  it('EXE-10: pods have time for the shutdown grace, the preStop pause and the close', () => {
    for (const deployment of deployments) {
      const pause = Number(containerOf(deployment).lifecycle?.preStop?.exec?.command?.[1] ?? 0);
      const neededSeconds = pause + config.executor.shutdownGraceSeconds + closingMs / 1000;
      expect(podOf(deployment).terminationGracePeriodSeconds).toBeGreaterThanOrEqual(neededSeconds + 5);
    }
  });

  it('deploy: containers run without privileges, and with memory limits', () => {
    for (const workload of workloads) {
      const pod = podOf(workload);
      const { securityContext, resources, volumeMounts } = containerOf(workload);
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
      });
      expect(securityContext).toEqual({
        allowPrivilegeEscalation: false,
        readOnlyRootFilesystem: true,
        capabilities: { drop: ['ALL'] },
      });
      expect(resources?.limits).toHaveProperty('memory');
      expect(volumeMounts).toEqual([{ name: 'tmp', mountPath: '/tmp' }]);
    }
  });

  it('deploy: selectors, budgets and the autoscaler name existing pods and ports', () => {
    const labelsOf = ({ spec }: Deployment) => spec?.template.metadata?.labels;
    for (const deployment of deployments)
      expect(deployment.spec?.selector.matchLabels).toEqual(labelsOf(deployment));
    const selected = (labels: object | undefined) =>
      deployments.filter((deployment) => {
        const own = labelsOf(deployment) ?? {};
        return Object.entries(labels ?? {}).every(([name, value]) => own[name] === value);
      });
    const budgets = ofKind<PodDisruptionBudget>('PodDisruptionBudget').map(({ spec }) =>
      selected(spec?.selector?.matchLabels).map(nameOf),
    );
    expect(budgets.flat().sort()).toEqual(deployments.map(nameOf).sort());
    const [service] = ofKind<Service>('Service');
    const [target, ...others] = selected(service?.spec?.selector);
    expect(others).toEqual([]);
    const ports = containerOf(target as Deployment).ports ?? [];
    expect(ports.map(({ name }) => name)).toContain(service?.spec?.ports?.[0]?.targetPort);
    const [autoscaler] = ofKind<HorizontalPodAutoscaler>('HorizontalPodAutoscaler');
    expect(deployments.map(nameOf)).toContain(autoscaler?.spec?.scaleTargetRef.name);
    const [adapter] = readYaml<{ rules: { external: { name: { as: string } }[] } }>(
      `${folder}/monitoring/prometheus-adapter-values.yaml`,
    );
    expect(adapter?.rules.external.map(({ name }) => name.as)).toContain(
      autoscaler?.spec?.metrics?.[0]?.external?.metric.name,
    );
  });

  it('deploy: the pools of all replicas fit into the default max_connections, also during a rollout', () => {
    const { poolSize } = config.database;
    const [autoscaler] = ofKind<HorizontalPodAutoscaler>('HorizontalPodAutoscaler');
    const total = deployments.reduce((sum, deployment) => {
      const { replicas = autoscaler?.spec?.maxReplicas ?? 0, strategy } = deployment.spec ?? {};
      const surge = String(strategy?.rollingUpdate?.maxSurge);
      const extra = surge.endsWith('%')
        ? Math.ceil((replicas * Number.parseInt(surge, 10)) / 100)
        : Number(surge);
      // The heartbeat of an executor; the probe of a server.
      const own = containerOf(deployment).args?.some((arg) => /executor|server/.test(arg)) ? 1 : 0;
      return sum + (replicas + extra) * (poolSize + own);
    }, 0);
    // 100, of which 3 are reserved; the migration needs one.
    expect(total).toBeLessThanOrEqual(96);
  });
});
