import { closest, distance } from 'fastest-levenshtein';

/** The known name that was probably meant, if one is near enough to be a typing mistake. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  if (known.length === 0) return undefined;
  const candidate = closest(
    name.toLowerCase(),
    known.map((one) => one.toLowerCase()),
  );
  const farthest = Math.max(2, Math.floor(name.length / 4));
  if (distance(name.toLowerCase(), candidate) > farthest) return undefined;
  return known.find((one) => one.toLowerCase() === candidate);
}

/** A sentence that helps on: the name that was probably meant, or all there are. */
export function suggestion(name: string, known: readonly string[]): string {
  const meant = nearest(name, known);
  return meant ? `Did you mean ${meant}?` : `Known: ${known.join(', ')}.`;
}
