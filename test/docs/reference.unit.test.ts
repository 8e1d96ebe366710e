import { describe, expect, it } from 'vitest';
import { generatedPages } from '../../scripts/reference/pages.ts';

const pages = await generatedPages();

describe('docs: references', () => {
  it.each(pages)('docs: $path matches the code (npm run docs:generate)', ({ current, generated }) => {
    expect(current).toBe(generated);
  });
});
