import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { isInstalled, readDeployed, readYaml, root } from './files.ts';

interface Rules {
  groups: { rules: { alert: string; expr: string; annotations: { runbook: string } }[] }[];
}

const [rules] = readYaml<Rules>('prometheus/alerts.yaml');
const alerts = rules?.groups.flatMap((group) => group.rules) ?? [];
const read = (path: string) => readFileSync(join(root, path), 'utf8');
const folder = join(root, 'deploy/prometheus');

/** As Prometheus stores them: a histogram is three series. */
function exportedNames(): string[] {
  const source = read('src/telemetry/telemetry.ts') + read('src/telemetry/executor.ts');
  return [...source.matchAll(/meter\.create(\w+)\('(\w+)'/g)].flatMap(([, kind, name]) =>
    kind === 'Histogram' ? ['_bucket', '_sum', '_count'].map((suffix) => `${name}${suffix}`) : [name ?? ''],
  );
}

describe('deploy: the Prometheus rules', () => {
  it('deploy: rules, the autoscaler and the on-call guide use metrics that exist', () => {
    const names = exportedNames();
    expect(names.length).toBeGreaterThan(15);
    const adapter = readDeployed('kubernetes/monitoring/prometheus-adapter-values.yaml').replaceAll(
      'as: sync_executor_start_lag_p95_ms',
      '',
    );
    const queries = [...read('docs/guides/on-call.md').matchAll(/^```promql\n([\s\S]*?)^```$/gm)];
    const texts = [...alerts.map(({ expr }) => expr), adapter, ...queries.map(([, query]) => query ?? '')];
    const used = new Set(texts.flatMap((text) => text.match(/\bsync_\w+/g) ?? []));
    expect([...used].filter((name) => !names.includes(name))).toEqual([]);
    expect(used.size).toBeGreaterThan(7);
  });

  it('deploy: every alert has a section in the on-call guide', () => {
    const headings = [...read('docs/guides/on-call.md').matchAll(/^### (\w+)$/gm)].map(([, name]) => name);
    expect(headings).toEqual(alerts.map(({ alert }) => alert));
    for (const { alert, annotations } of alerts)
      expect(annotations.runbook).toBe(`docs/guides/on-call.md#${alert.toLowerCase()}`);
  });

  it.skipIf(!isInstalled('promtool', '--version'))(
    'deploy: promtool accepts the rules and their tests',
    () => {
      for (const args of [
        ['check', 'rules', 'alerts.yaml'],
        ['test', 'rules', 'alerts.test.yaml'],
      ])
        expect(execFileSync('promtool', args, { cwd: folder, encoding: 'utf8' })).toContain('SUCCESS');
    },
  );
});
