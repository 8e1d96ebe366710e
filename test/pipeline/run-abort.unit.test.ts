import { describe, expect, it } from 'vitest';
import { RunAbort } from '../../src/pipeline/run-abort.ts';

const first = new Error('the first reason');
const second = new Error('the second reason');

describe('the abort of a run', () => {
  it('run abort: aborts a signal that the connector read before', () => {
    const abort = new RunAbort();
    const { signal } = abort;
    expect(signal.aborted).toBe(false);
    abort.abort(first);
    expect(signal).toMatchObject({ aborted: true, reason: first });
  });

  it('run abort: hands out an aborted signal to a connector that reads it later', () => {
    const abort = new RunAbort();
    abort.abort(first);
    expect(abort.signal).toMatchObject({ aborted: true, reason: first });
    expect(abort.signal).toBe(abort.signal);
  });

  it('run abort: keeps the first reason and calls its listener once', () => {
    const abort = new RunAbort();
    const reasons: unknown[] = [];
    abort.onAbort((reason) => reasons.push(reason));
    abort.abort(first);
    abort.abort(second);
    expect(reasons).toEqual([first]);
    expect(abort.signal.reason).toBe(first);
  });

  it('run abort: calls a listener that comes after the abort immediately', () => {
    const abort = new RunAbort();
    abort.abort(first);
    const reasons: unknown[] = [];
    abort.onAbort((reason) => reasons.push(reason));
    expect(reasons).toEqual([first]);
  });
});
