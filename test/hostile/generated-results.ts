import type { Chance } from '../http/random.ts';
import { circular, nested, polluting, revoked, thenable, trap } from './odd-values.ts';

/** The expected outcome follows from the construction of the result. */
export interface GeneratedResult {
  make: () => unknown;
  expected: { status: 'succeeded' | 'queued' | 'failed'; signals: number; cursor: unknown };
}

/** Part of a result; one invalid part makes the whole result invalid. */
interface Part {
  make: () => unknown;
  isValid: boolean;
}

const valid = (make: () => unknown): Part => ({ make, isValid: true });
const invalid = (make: () => unknown): Part => ({ make, isValid: false });

const kinds: readonly Part[] = [
  valid(() => 'item.created'),
  valid(() => `'; DROP TABLE signals; --`),
  valid(() => '\0\ud800'),
  valid(() => '__proto__'),
  valid(() => 'k'.repeat(200)),
  invalid(() => ''),
  invalid(() => 'k'.repeat(201)),
  invalid(() => 7),
  invalid(() => Symbol('kind')),
  invalid(() => new String('kind')),
  invalid(() => undefined),
];
const times: readonly Part[] = [
  valid(() => '2025-01-01T10:00:00Z'),
  valid(() => '2025-01-01'),
  valid(() => '0001-01-01T00:00:00Z'),
  valid(() => '9999-12-31T23:59:59.999999999Z'),
  valid(() => new Date(0)),
  valid(
    () =>
      new (class extends Date {
        override toISOString = () => 'a lie';
      })(0),
  ),
  invalid(() => new Date(Number.NaN)),
  invalid(() => new Date(8.64e15)),
  invalid(() => '2025-01-01T10:00:00'),
  invalid(() => 1_735_689_600_000),
  invalid(() => '+275760-09-13T00:00:00Z'),
  invalid(() => Object.create(Date.prototype)),
  invalid(() => null),
];
const payloads: readonly Part[] = [
  valid(() => 1),
  valid(() => null),
  valid(() => 'a\0b\ud800'),
  valid(() => ({ 'a\0': ['\udfff', -0, Number.NaN, 1e308] })),
  valid(polluting),
  valid(() => ({ toJSON: () => 'a lie' })),
  valid(() => new Map([[1, 2]])),
  valid(() => Array(5)),
  valid(() => nested(500)),
  valid(() => 'x'.repeat(5000)),
  valid(() => new Proxy({ a: 1 }, {})),
  invalid(() => 1n),
  invalid(circular),
  invalid(() => undefined),
  invalid(() => Symbol('payload')),
  invalid(() => ({ toJSON: trap })),
  invalid(() => Object.defineProperty({}, 'a', { enumerable: true, get: trap })),
  invalid(revoked),
  invalid(() => nested(100_000)),
];
const keys: readonly Part[] = [
  valid(() => undefined),
  valid(() => null),
  invalid(() => ''),
  invalid(() => 7),
  invalid(() => ({})),
];
const cursors: readonly (Part & { stored: unknown })[] = [
  { ...valid(() => undefined), stored: null },
  { ...valid(() => null), stored: null },
  { ...valid(() => 0), stored: 0 },
  { ...valid(() => ({ at: 'next' })), stored: { at: 'next' } },
  { ...valid(() => JSON.parse('{"__proto__":1}')), stored: JSON.parse('{"__proto__":1}') },
  { ...valid(() => ({ toJSON: () => [1] })), stored: [1] },
  { ...valid(() => String.raw`\u0000`), stored: String.raw`\u0000` },
  { ...invalid(() => 'a\0b'), stored: null },
  { ...invalid(() => ['\ud800']), stored: null },
  { ...invalid(() => 1n), stored: null },
  { ...invalid(circular), stored: null },
  { ...invalid(() => Symbol('cursor')), stored: null },
  { ...invalid(() => 'c'.repeat(300_000)), stored: null },
  { ...invalid(revoked), stored: null },
];
const hasMoreValues: readonly Part[] = [
  valid(() => undefined),
  valid(() => false),
  invalid(() => 'true'),
  invalid(() => 1),
  invalid(() => null),
];
const retryAfterValues: readonly Part[] = [
  valid(() => undefined),
  valid(() => 0),
  valid(() => 1e308),
  invalid(() => -1),
  invalid(() => Number.NaN),
  valid(() => '60'),
  valid(() => null),
  valid(() => 'soon'),
  invalid(() => 60n),
];

const kind = Symbol.for('syncline.connector-error');
const thrown: readonly { make: () => unknown; status: 'queued' | 'failed' }[] = [
  { make: () => undefined, status: 'queued' },
  { make: () => null, status: 'queued' },
  { make: () => 'text', status: 'queued' },
  { make: () => Symbol('thrown'), status: 'queued' },
  { make: () => 7n, status: 'queued' },
  { make: revoked, status: 'queued' },
  { make: circular, status: 'queued' },
  { make: () => Object.create(null), status: 'queued' },
  { make: () => new Error('\0\ud800'), status: 'queued' },
  { make: () => new Error('x'.repeat(100_000)), status: 'queued' },
  { make: () => Object.defineProperty(new Error('x'), 'message', { get: trap }), status: 'queued' },
  { make: () => Object.defineProperty(new Error('x'), kind, { get: trap }), status: 'queued' },
  ...['nonsense', '__proto__', 7n, {}, '\0', 'transient', 'rate_limited', 'cursor_expired'].map((value) => ({
    make: () => Object.assign(new Error('x'), { [kind]: value }),
    status: 'queued' as const,
  })),
  ...[1e308, -1, Number.NaN, '10', 10n, {}].map((retryAfterSeconds) => ({
    make: () => ({ [kind]: 'rate_limited', retryAfterSeconds }),
    status: 'queued' as const,
  })),
  { make: () => ({ [kind]: 'permanent' }), status: 'failed' },
  { make: () => ({ [kind]: 'unauthorized' }), status: 'failed' },
];

/** Mostly valid, so that each part decides often enough. */
function pick<T extends Part>(chance: Chance, parts: readonly T[]): T {
  return chance.pick(chance.percent(92) ? parts.filter(({ isValid }) => isValid) : parts);
}

function signalOf(chance: Chance, key: string): Part {
  if (chance.percent(2))
    return invalid(chance.pick([() => null, () => [], () => 7, revoked, () => 'signal']));
  const fields = { kind: kinds, occurredAt: times, payload: payloads };
  const parts = Object.entries(fields).map(([name, options]) => [name, pick(chance, options)] as const);
  const own = chance.percent(60) ? valid(() => key) : pick(chance, keys);
  const all = [...parts, ['dedupeKey', own] as const];
  const isValid = all.every(([, part]) => part.isValid);
  const make = () => Object.fromEntries(all.map(([name, part]) => [name, part.make()]));
  return { make, isValid };
}

const wrappings: readonly ((result: object) => unknown)[] = [
  (result) => result,
  (result) => Object.freeze(result),
  (result) => new Proxy(result, {}),
  (result) => Promise.resolve(result),
  (result) => thenable((done) => done(result)),
  (result) => Object.create(result) as object,
  (result) => Object.assign(result, { ['__proto__']: { signals: 7 } }) && result,
];

export function generateResult(chance: Chance): GeneratedResult {
  if (chance.percent(15)) {
    const { make, status } = chance.pick(thrown);
    return {
      make: () => {
        throw make();
      },
      expected: { status, signals: 0, cursor: null },
    };
  }
  const count = chance.below(6);
  const signals = Array.from({ length: count }, (_, i) => signalOf(chance, `key ${i}`));
  const cursor = pick(chance, cursors);
  const more = pick(chance, hasMoreValues);
  const wait = pick(chance, retryAfterValues);
  const list = chance.percent(3)
    ? chance.pick([() => undefined, () => ({ length: 0 }), () => new Set(), () => Array(2)])
    : undefined;
  const wrap = chance.pick(wrappings);
  const isValid =
    !list && cursor.isValid && more.isValid && wait.isValid && signals.every((part) => part.isValid);
  return {
    make: () =>
      wrap({
        signals: list ? list() : signals.map((part) => part.make()),
        nextCursor: cursor.make(),
        hasMore: more.make(),
        retryAfterSeconds: wait.make(),
      }),
    expected: isValid
      ? { status: 'succeeded', signals: count, cursor: cursor.stored }
      : { status: 'queued', signals: 0, cursor: null },
  };
}
