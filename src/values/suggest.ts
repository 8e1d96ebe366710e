import { distance } from 'fastest-levenshtein';

/** The known name that was probably meant: mistyped, written in another style, or cut short (a unit left out). */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const plain = (text: string) => text.toLowerCase().replaceAll(/[_-]/g, '');
  const wanted = plain(name);
  const cutShort = known.filter((one) => plain(one).startsWith(wanted));
  if (cutShort.length === 1) return cutShort[0];

  const farthest = Math.max(2, Math.floor(wanted.length / 4));
  const [best] = known
    .map((one) => ({ one, far: distance(wanted, plain(one)) }))
    .filter(({ far }) => far <= farthest)
    .sort((a, b) => a.far - b.far);
  return best?.one;
}

/** A sentence that helps on: the name that was probably meant, or all there are. */
export function suggestion(name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  return meant ? `Did you mean ${meant}?` : `Known: ${known.join(', ')}.`;
}
