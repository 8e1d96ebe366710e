import { describe, expect, it } from 'vitest';
import { createRunLog } from '../../src/telemetry/run-log.ts';
import { recordingLogger } from '../support/log.ts';

function runLog() {
  const { log, lines } = recordingLogger('debug');
  let created = 0;
  const run = createRunLog(
    () => {
      created++;
      return log;
    },
    { now: () => 0 },
  );
  return { run, lines, created: () => created };
}

describe('run log', () => {
  it('run log: creates the logger lazily and once', () => {
    const { run, created } = runLog();
    expect([run.lines(), created()]).toEqual([undefined, 0]);
    expect(run.logger()).toBe(run.logger());
    expect([run.lines(), created()]).toEqual([undefined, 1]);
  });

  it('run log: keeps level, message and fields, and forwards every line', () => {
    const { run, lines } = runLog();
    const log = run.logger();
    log.debug({ a: 1 }, 'one %s', 'word');
    // A real stack may exceed the limit of stored fields.
    log.child({ page: 2 }).error(Object.assign(new Error('boom'), { stack: 'Error: boom' }));
    expect(run.lines()).toEqual([
      expect.objectContaining({ level: 'debug', message: 'one word', fields: { a: 1 } }),
      expect.objectContaining({
        level: 'error',
        message: 'boom',
        fields: { page: 2, err: expect.objectContaining({ type: 'Error', message: 'boom' }) },
      }),
    ]);
    expect(lines).toEqual([
      expect.objectContaining({ level: 'debug', msg: 'one word', a: 1 }),
      expect.objectContaining({ level: 'error', msg: 'boom', page: 2 }),
    ]);
  });

  it('run log: keeps the first 100 lines and counts the others', () => {
    const { run, lines } = runLog();
    for (let i = 1; i <= 100; i++) run.logger().info(`line ${i}`);
    expect(run.lines()).toHaveLength(100);
    for (let i = 101; i <= 250; i++) run.logger().info(`line ${i}`);
    const kept = run.lines();
    expect(kept).toHaveLength(101);
    expect(kept?.[99]?.message).toBe('line 100');
    expect(kept?.[100]?.message).toBe('… and 150 more lines');
    expect(lines).toHaveLength(250);
  });

  it('run log: truncates long messages and omits large fields', () => {
    const { run } = runLog();
    run.logger().info({ body: 'x'.repeat(5000) }, `${'m'.repeat(999)}😀`);
    const [line] = run.lines() ?? [];
    expect(line?.message).toBe(`${'m'.repeat(999)}\ufffd`);
    expect(line?.fields).toEqual({ omitted: expect.stringMatching(/^\d+ characters$/) });
  });

  it('run log: fields named time or level do not replace those of the line', () => {
    const { run } = runLog();
    const log = run.logger();
    for (const time of ['yesterday', null, {}, 1e300, -1]) log.info({ time }, 'when');
    log.child({ time: 'x', level: 'y' }).info('child');
    expect(run.lines()).toHaveLength(6);
    for (const { at } of run.lines() ?? []) expect(Number.isNaN(Date.parse(at))).toBe(false);
  });

  it('run log: keeps text that looks like an escape sequence', () => {
    const { run } = runLog();
    const path = String.raw`C:\udead\u0000`;
    run.logger().info({ path, [path]: [path] }, path);
    expect(run.lines()).toEqual([
      expect.objectContaining({ message: path, fields: { path, [path]: [path] } }),
    ]);
  });

  it('run log: accepts any arguments', () => {
    const { run } = runLog();
    const circular: Record<string, unknown> = { name: 'loop' };
    circular['self'] = circular;
    const log = run.logger();
    log.info(circular, 'circular');
    log.info({ big: 10n, missing: undefined, none: null, when: new Date(0), [Symbol('s')]: 1 }, 'odd');
    log.info(undefined);
    log.info({ level: 'high', msg: 'own' }, 'reserved names');
    expect(run.lines()).toHaveLength(4);
    for (const { at, level, message } of run.lines() ?? []) {
      expect(Number.isNaN(Date.parse(at))).toBe(false);
      expect([typeof level, typeof message]).toEqual(['string', 'string']);
    }
  });
});
