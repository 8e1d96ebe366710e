import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { judge } from '../../../bench/soak/judge.ts';
import type { SoakOptions } from '../../../bench/soak/options.ts';
import { page } from '../../../bench/soak/page.ts';
import { planLoad } from '../../../bench/soak/plan.ts';
import { resultOf, type SoakResult } from '../../../bench/soak/result.ts';
import type { Steady } from '../../../bench/soak/steady.ts';
import { type MeasuredOn, readResult } from '../../../bench/tools/results.ts';
import { samplesOf } from './samples.ts';

const measuredOn: MeasuredOn = {
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
  const options: SoakOptions = {
    minutes,
    connections: 100_000,
    mayAddConnections: true,
    load: 0.8,
    processes: 2,
    capacityPerSecond: undefined,
  };
  const plan = planLoad(options, 1250);
  const steady = { samples: samplesOf(minutes), endViolations: [], callsWithoutOutcome: 0, ...changed };
  const judgements = judge(steady, plan);
  const capacity = { perSecond: 1250 };
  return page({
    measuredOn,
    minutes,
    ...resultOf({ options, plan, capacity, steady, judgements }),
  });
}

describe('the page of the soak', () => {
  it('is what the report writes from what was measured', () => {
    const docs = new URL('../../../docs/', import.meta.url);
    const { text, plots } = page(readResult<SoakResult>('soak'));
    expect(readFileSync(new URL('soak.md', docs), 'utf8')).toBe(text);
    const folder = new URL('soak/', docs);
    const files = existsSync(folder) ? readdirSync(folder) : [];
    expect(files.toSorted()).toEqual(
      Object.keys(plots)
        .map((name) => `${name}.svg`)
        .toSorted(),
    );
    for (const [name, svg] of Object.entries(plots))
      expect(readFileSync(new URL(`${name}.svg`, folder), 'utf8')).toBe(svg);
  });

  it('says that nothing was measured where nothing was', () => {
    const { text, plots } = page(undefined);
    expect(text).toContain('Not measured yet.');
    expect(text).not.toContain('.svg');
    expect(plots).toEqual({});
  });

  it('shows every plot, and no figure that is none', () => {
    const { text, plots } = pageOf(480);
    const shown = [...text.matchAll(/\(soak\/(.*)\.svg\)/g)].map((match) => match[1]);
    expect(shown).toEqual(Object.keys(plots));
    expect(text + Object.values(plots).join('')).not.toMatch(/NaN|undefined|Infinity|not measured/);
  });

  it('says of what it cannot know that it cannot', () => {
    expect(pageOf(480).text).toContain('long enough to rule out growth');
    const { text } = pageOf(10);
    expect(text).toContain('too short for: Process 1, heap after garbage was collected');
    expect(text).toMatch(/\| +too short to tell \|/);
  });

  it('says plainly what was violated', () => {
    const broken = { invariant: 'a promise', count: 2, examples: ['this one'] };
    const { text } = pageOf(480, { endViolations: [broken] });
    expect(text).toMatch(/Violations of what is promised +\| +0 \| +2; a promise \| +MISSED \|/);
    expect(text).toContain('- Violated 2 times: a promise (this one).');
  });
});
