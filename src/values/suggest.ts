import { distance } from 'fastest-levenshtein';

export function nearest(name: string, known: readonly string[]): string | undefined {
  const normalize = (text: string) => text.toLowerCase().replaceAll(/[_-]/g, '');
  const normalized = normalize(name);
  const completions = known.filter((candidate) => normalize(candidate).startsWith(normalized));
  if (completions.length === 1) return completions[0];

  const maxDistance = Math.max(2, Math.floor(normalized.length / 4));
  const [best] = known
    .map((candidate) => ({ candidate, edits: distance(normalized, normalize(candidate)) }))
    .filter(({ edits }) => edits <= maxDistance)
    .sort((a, b) => a.edits - b.edits);
  return best?.candidate;
}

export function suggestion(name: string, known: readonly string[]): string {
  const closest = nearest(name, known);
  return closest ? `Did you mean ${closest}?` : `Known: ${known.join(', ')}.`;
}

export function unknownKey(value: object, known: readonly string[]): string | undefined {
  for (const key of Object.keys(value))
    if (!known.includes(key))
      return `the unknown key ${JSON.stringify(key.slice(0, 80))}. ${suggestion(key.slice(0, 80), known)}`;
  return undefined;
}
