/** Lets so many through at once, in the order of asking: what would take database connections from everybody else waits here. */
export interface Gate {
  isFull(): boolean;
  through<T>(work: () => Promise<T>): Promise<T>;
}

export interface GateOptions {
  /** How many may wait; no limit unless given. */
  mostWaiting?: number;
  /** What those are told who find the line full. */
  refusal?: () => Error;
}

export function createGate(most: number, { mostWaiting, refusal }: GateOptions = {}): Gate {
  const line: (() => void)[] = [];
  let inside = 0;

  async function enter(): Promise<void> {
    if (inside < most) {
      inside++;
      return;
    }
    if (refusal && mostWaiting !== undefined && line.length >= mostWaiting) throw refusal();
    await new Promise<void>((resolve) => line.push(resolve));
  }

  return {
    isFull: () => inside >= most,
    async through(work) {
      await enter();
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

/**
 * How many of a process's database connections one kind of work may hold that others could drive up at will: deliveries, and
 * renewals while a provider takes its time. A third each leaves a third for runs and for the API.
 */
export const shareOfPool = (poolSize: number) => Math.max(1, Math.floor(poolSize / 3));
