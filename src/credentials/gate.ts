/** Lets so many through at once; the others wait in line. */
export interface Gate {
  isFull(): boolean;
  through<T>(work: () => Promise<T>): Promise<T>;
}

export function createGate(most: number): Gate {
  const line: (() => void)[] = [];
  let inside = 0;
  return {
    isFull: () => inside >= most,
    async through(work) {
      if (inside >= most) await new Promise<void>((resolve) => line.push(resolve));
      else inside++;
      try {
        return await work();
      } finally {
        // Whoever is next takes this place over, so that nobody slips in between.
        const next = line.shift();
        if (next) next();
        else inside--;
      }
    },
  };
}
