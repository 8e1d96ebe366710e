/** FNV-1a with the murmur3 finalizer for usable low bits. */
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
