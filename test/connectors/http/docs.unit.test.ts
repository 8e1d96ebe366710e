import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { httpFromYaml } from '../../../src/connectors/index.ts';
import { referenceTables } from './reference.ts';

const file = new URL('../../../docs/connectors/http.md', import.meta.url);
const [begin, end] = ['<!-- the tables are made from the schema -->\n\n', '\n\n<!-- end of the tables -->'];

describe('http: documentation', () => {
  it('http: the reference tables match the schema', () => {
    const text = readFileSync(file, 'utf8');
    const [before = '', rest = ''] = text.split(begin);
    const [tables, after = ''] = rest.split(end);
    // UPDATE_DOCS=1 regenerates them.
    if (process.env['UPDATE_DOCS'])
      writeFileSync(file, `${before}${begin}${referenceTables()}${end}${after}`);
    else expect(tables).toBe(referenceTables());
  });

  it('http: every description in the documentation is valid', () => {
    const texts = [...readFileSync(file, 'utf8').matchAll(/```yaml\n(.*?)```/gs)].map(
      ([, text]) => text as string,
    );
    const whole = texts.filter((text) => text.startsWith('provider:'));
    expect(whole.length).toBeGreaterThan(0);
    for (const text of whole) expect(() => httpFromYaml(text)).not.toThrow();
  });
});
