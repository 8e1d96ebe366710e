import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { soakPage } from '../../../bench/report/soak.ts';
import { judge } from '../../../bench/soak/judge.ts';
import { planLoad } from '../../../bench/soak/plan.ts';
import { resultOf, type Steady } from '../../../bench/soak/run.ts';
import { type Environment, readResult } from '../../../bench/tools/results.ts';
import { samplesOf } from './samples.ts';

const measuredOn: Environment = {
  node: '20.0.0',
  postgres: '18.0',
  cores: 2,
  cpu: 'a processor',
  memoryGb: 8,
  loadBefore: 0.1,
  settings: { fsync: 'on' },
  peers: {},
};

function pageOf(minutes: number, changed: Partial<Steady> = {}) {
  const options = { minutes, connections: undefined, capacityPerSecond: undefined };
  const plan = planLoad(options, 1250);
  const steady = { samples: samplesOf(minutes), endViolations: [], lostCalls: 0, ...changed };
  return soakPage({ measuredOn, ...resultOf(options, 1250, plan, steady, judge(steady, plan)) });
}

describe('docs/soak.md', () => {
  it('soak page: equals the output of the report for the recorded result', () => {
    const docs = new URL('../../../docs/', import.meta.url);
    const { text, charts } = soakPage(readResult('soak'));
    expect(readFileSync(new URL('soak.md', docs), 'utf8')).toBe(text);
    const files = Object.keys(charts).map((name) => `${name}.svg`);
    expect(readdirSync(new URL('soak/', docs)).toSorted()).toEqual(files.toSorted());
  });

  it('soak page: shows each chart and only numbers', () => {
    const { text, charts } = pageOf(480);
    const shown = [...text.matchAll(/\(soak\/(.*)\.svg\)/g)].map((match) => match[1]);
    expect(shown).toEqual(Object.keys(charts));
    expect(text + JSON.stringify(charts)).not.toMatch(/NaN|undefined|Infinity|null/);
  });

  it('soak page: states for which checks the run was too short', () => {
    expect(pageOf(480).text).toContain('long enough to rule out growth');
    const { text } = pageOf(10);
    expect(text).toContain('too short for: Process 1, heap after garbage collection');
    expect(text).toMatch(/\| +run too short \|/);
  });

  it('soak page: lists violated invariants with examples', () => {
    const broken = { invariant: 'No overlap', count: 2, examples: ['job 1'] };
    const { text } = pageOf(480, { endViolations: [broken] });
    expect(text).toMatch(/Violated invariants +\| +0 \| +2; No overlap \| +MISSED \|/);
    expect(text).toContain('- Violated 2 times: No overlap (job 1).');
  });
});
