import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { httpFromYaml } from '../../src/connectors/index.ts';
import { blocksOf, pages } from '../support/markdown.ts';

const blocks = pages()
  .flatMap(blocksOf)
  .filter(({ language }) => language === 'yaml' || language === 'yml');

const isDescription = (text: string) => /^provider:/m.test(text) && /^streams:/m.test(text);

describe('docs: YAML', () => {
  it.each(blocks)('docs: the YAML at $path:$line is valid', ({ text }) => {
    if (isDescription(text)) expect(() => httpFromYaml(text)).not.toThrow();
    else expect(parseAllDocuments(text).flatMap(({ errors }) => errors)).toEqual([]);
  });

  it('docs: connector descriptions are found', () => {
    expect(blocks.filter(({ text }) => isDescription(text)).length).toBeGreaterThan(0);
  });
});
