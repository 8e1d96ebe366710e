import { describe, expect, it } from 'vitest';
import { createSemaphore } from '../../src/platform/semaphore.ts';

/** Records the order in which work enters; each piece runs until `end`. */
function recorder(semaphore: ReturnType<typeof createSemaphore>) {
  const entered: string[] = [];
  const ends = new Map<string, () => void>();
  const begin = (name: string, holder?: string) =>
    semaphore.run(
      () =>
        new Promise<void>((resolve) => {
          entered.push(name);
          ends.set(name, resolve);
        }),
      holder,
    );
  const end = async (name: string) => {
    ends.get(name)?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { entered, begin, end };
}

describe('semaphore', () => {
  it('semaphore: waiting work enters round-robin by holder', async () => {
    const { entered, begin, end } = recorder(createSemaphore(1));
    for (const name of ['a1', 'a2', 'a3', 'b1', 'c1']) void begin(name, name[0]);
    for (const name of ['a1', 'a2', 'b1', 'c1', 'a3']) await end(name);
    expect(entered).toEqual(['a1', 'a2', 'b1', 'c1', 'a3']);
  });

  it('semaphore: a fair semaphore reserves its last slot for another holder', async () => {
    const { entered, begin, end } = recorder(createSemaphore(3, { fair: true }));
    for (const name of ['a1', 'a2', 'a3', 'a4']) void begin(name, 'a');
    expect(entered).toEqual(['a1', 'a2']);
    void begin('b1', 'b');
    expect(entered).toEqual(['a1', 'a2', 'b1']);
    await end('b1');
    expect(entered).toHaveLength(3);
    await end('a1');
    expect(entered).toEqual(['a1', 'a2', 'b1', 'a3']);
  });

  it('semaphore: a fair semaphore with one slot serves a single holder', async () => {
    const { entered, begin, end } = recorder(createSemaphore(1, { fair: true }));
    for (const name of ['a1', 'a2']) void begin(name, 'a');
    await end('a1');
    expect(entered).toEqual(['a1', 'a2']);
  });

  it('semaphore: work that exceeds maxWait is rejected and takes no slot later', async () => {
    const timers: (() => void)[] = [];
    const sleep = (_ms: number, signal: AbortSignal) =>
      new Promise<void>((resolve) => {
        timers.push(resolve);
        signal.addEventListener('abort', () => resolve());
      });
    const semaphore = createSemaphore(1, {
      refusal: () => new Error('waited too long'),
      maxWait: { ms: 1000, ports: { sleep } },
    });
    const { entered, begin, end } = recorder(semaphore);
    void begin('first');
    const second = begin('second');
    const third = begin('third');
    timers[0]?.();
    await expect(second).rejects.toThrow('waited too long');
    await end('first');
    expect(entered).toEqual(['first', 'third']);
    await end('third');
    await third;
    expect(semaphore.isFull()).toBe(false);
  });
});
