import { describe, expect, it } from 'vitest';
import { lastLink, nextLink } from '../../src/connector-kit/index.ts';

const next = (link: string) => nextLink(new Headers({ link }));

describe('link', () => {
  it('kit: nextLink finds rel=next among other links and in every syntax', () => {
    expect(next('<https://a.test/?page=2>; rel="next", <https://a.test/?page=9>; rel="last"')).toBe(
      'https://a.test/?page=2',
    );
    expect(next('<https://a.test/?page=1>; rel="prev", <https://a.test/?page=3>; rel="next"')).toBe(
      'https://a.test/?page=3',
    );
    expect(next('<?page=2>; rel=next')).toBe('?page=2');
    expect(next('<?page=2>;title="a; b";REL="start next"')).toBe('?page=2');
    expect(next('<?ids=1,2,3>; rel="next"')).toBe('?ids=1,2,3');
  });

  it('kit: nextLink returns undefined without rel=next', () => {
    expect(nextLink(new Headers())).toBeUndefined();
    expect(next('<?page=1>; rel="prev"')).toBeUndefined();
    expect(next('<?page=1>; rel="nextish"')).toBeUndefined();
    expect(next('nonsense')).toBeUndefined();
  });

  it('kit: lastLink finds rel=last', () => {
    expect(lastLink(new Headers({ link: '<?page=2>; rel="next", <?page=9>; rel="last"' }))).toBe('?page=9');
    expect(lastLink(new Headers({ link: '<?page=2>; rel="next"' }))).toBeUndefined();
  });
});
