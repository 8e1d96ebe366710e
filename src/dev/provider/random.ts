/**
 * Chance that can be repeated: the same words give the same number in every process, so that what the demo's providers
 * show depends on nothing but the account and the time. 32 bits, FNV-1a, mixed so that the low bits are as good as the high.
 */
export function hash(...words: (string | number)[]): number {
  let value = 0x811c9dc5;
  for (const character of words.join('\n')) {
    value = Math.imul(value ^ (character.codePointAt(0) ?? 0), 0x01000193);
  }
  value = Math.imul(value ^ (value >>> 16), 0x85ebca6b);
  value = Math.imul(value ^ (value >>> 13), 0xc2b2ae35);
  return (value ^ (value >>> 16)) >>> 0;
}

export function pick<T>(from: readonly T[], number: number): T {
  return from[number % from.length] as T;
}
