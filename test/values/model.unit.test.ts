import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { jsonOf, maybe } from '../../src/values/model.ts';

const run = z.object({ startedAt: z.date(), lagP50Ms: maybe(z.number()) });
const model = z.object({
  id: z.string(),
  tenantName: maybe(z.string()),
  endedAt: maybe(z.date()),
  runs: z.array(run),
  latest: maybe(run),
  cursor: z.unknown(),
  payload: z.unknown().optional(),
});
const at = new Date('2025-01-01T12:00:00Z');
const value = {
  id: '1',
  tenantName: undefined,
  endedAt: at,
  runs: [{ startedAt: at, lagP50Ms: 0 }],
  latest: undefined,
  cursor: { nextPage: at },
};

describe('models', () => {
  it('model: JSON has snake_case keys, ISO times and null, also in nested values', () => {
    expect(jsonOf(model)(value)).toEqual({
      id: '1',
      tenant_name: null,
      ended_at: '2025-01-01T12:00:00.000Z',
      runs: [{ started_at: '2025-01-01T12:00:00.000Z', lag_p50_ms: 0 }],
      latest: null,
      cursor: { nextPage: at },
    });
  });

  it('model: JSON omits an optional field that is undefined, and keeps one that is null', () => {
    expect(jsonOf(model)({ ...value, payload: undefined })).not.toHaveProperty('payload');
    expect(jsonOf(model)({ ...value, payload: null })).toHaveProperty('payload', null);
  });

  it('model: JSON has only the fields of its schema, and null for a missing cursor', () => {
    const more = { ...value, cursor: undefined, secret: 'x' };
    expect(jsonOf(model)(more)).not.toHaveProperty('secret');
    expect(jsonOf(model)(more)).toHaveProperty('cursor', null);
  });

  it('model: JSON is computed where it differs from the library', () => {
    const shown = model.pick({ id: true }).extend({ runCount: z.int() });
    const toJson = jsonOf(model, shown, { runCount: ({ runs }) => runs.length });
    expect(toJson(value)).toEqual({ id: '1', run_count: 1 });
    // @ts-expect-error: a field that the value does not have must be computed
    jsonOf(model, shown, {});
  });

  it('model: a time that a Date cannot represent is empty', () => {
    const toJson = jsonOf(z.object({ at: z.date() }));
    expect(toJson({ at: new Date(Number.NaN) })).toEqual({ at: '' });
  });
});
