/** Numbers that a seed decides. */
export interface Random {
  /** Uniform in [0, 1). */
  next(): number;
  /** Uniform over the whole numbers from `least` to `most`, both included. */
  whole(least: number, most: number): number;
  chance(probability: number): boolean;
  pick<T>(from: readonly T[]): T;
  shuffled<T>(items: readonly T[]): T[];
  /** A stream of its own, decided by seed and name alone: how much is drawn from one never changes another. */
  fork(name: string): Random;
}

export function seeded(seed: string): Random {
  const draw = sfc32(seed);
  const whole = (least: number, most: number) => least + Math.floor(draw() * (most - least + 1));
  return {
    next: draw,
    whole,
    chance: (probability) => draw() < probability,
    pick: (from) => {
      if (from.length === 0) throw new Error('There is nothing to pick from.');
      return from[whole(0, from.length - 1)] as (typeof from)[number];
    },
    shuffled: (items) => {
      const left = [...items];
      return items.map(() => left.splice(whole(0, left.length - 1), 1)[0] as (typeof items)[number]);
    },
    fork: (name) => seeded(`${seed}/${name}`),
  };
}

/** Small, fast, and good enough for tests: four words of state, made from the text by xmur3. */
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
