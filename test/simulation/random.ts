export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** Uniform integer from `min` to `max`, inclusive. */
  integer(min: number, max: number): number;
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
  shuffled<T>(items: readonly T[]): T[];
  /** An independent stream: draws from one never change another. */
  fork(name: string): Random;
}

export function seeded(seed: string): Random {
  const draw = sfc32(seed);
  const integer = (min: number, max: number) => min + Math.floor(draw() * (max - min + 1));
  return {
    next: draw,
    integer,
    chance: (probability) => draw() < probability,
    pick: (from) => {
      if (from.length === 0) throw new Error('Cannot pick from an empty list.');
      return from[integer(0, from.length - 1)] as (typeof from)[number];
    },
    shuffled: (items) => {
      const remaining = [...items];
      return items.map(
        () => remaining.splice(integer(0, remaining.length - 1), 1)[0] as (typeof items)[number],
      );
    },
    fork: (name) => seeded(`${seed}/${name}`),
  };
}

/** The sfc32 generator, seeded from the text by xmur3. */
function sfc32(seed: string): () => number {
  let hash = 1779033703 ^ seed.length;
  for (let i = 0; i < seed.length; i++) {
    hash = Math.imul(hash ^ seed.charCodeAt(i), 3432918353);
    hash = (hash << 13) | (hash >>> 19);
  }
  const word = () => {
    hash = Math.imul(hash ^ (hash >>> 16), 2246822507);
    hash = Math.imul(hash ^ (hash >>> 13), 3266489909);
    hash ^= hash >>> 16;
    return hash;
  };
  let [a, b, c, d] = [word(), word(), word(), word()];
  const draw = () => {
    const sum = (((a + b) | 0) + d) | 0;
    d = (d + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = (c << 21) | (c >>> 11);
    c = (c + sum) | 0;
    return (sum >>> 0) / 4294967296;
  };
  for (let i = 0; i < 12; i++) draw();
  return draw;
}
