import type { Chance } from '../http/random.ts';
import { looped, nested, polluting, revoked, thenable, trap } from './odd-values.ts';

/** A result that a connector may return or throw, and what has to come of it, known from how it was made. */
export interface GeneratedResult {
  make: () => unknown;
  expected: { status: 'succeeded' | 'queued' | 'failed'; signals: number; cursor: unknown };
}

/** A part of a result: right as it is, or wrong, which makes all of it wrong. */
interface Part {
  make: () => unknown;
  isRight: boolean;
}

const right = (make: () => unknown): Part => ({ make, isRight: true });
const wrong = (make: () => unknown): Part => ({ make, isRight: false });

const kinds: readonly Part[] = [
  right(() => 'item.created'),
  right(() => `'; DROP TABLE signals; --`),
  right(() => '\0\ud800'),
  right(() => '__proto__'),
  right(() => 'k'.repeat(200)),
  wrong(() => ''),
  wrong(() => 'k'.repeat(201)),
  wrong(() => 7),
  wrong(() => Symbol('kind')),
  wrong(() => new String('kind')),
  wrong(() => undefined),
];
const times: readonly Part[] = [
  right(() => '2025-01-01T10:00:00Z'),
  right(() => '2025-01-01'),
  right(() => '0001-01-01T00:00:00Z'),
  right(() => '9999-12-31T23:59:59.999999999Z'),
  right(() => new Date(0)),
  right(
    () =>
      new (class extends Date {
        override toISOString = () => 'a lie';
      })(0),
  ),
  wrong(() => new Date(Number.NaN)),
  wrong(() => new Date(8.64e15)),
  wrong(() => '2025-01-01T10:00:00'),
  wrong(() => 1_735_689_600_000),
  wrong(() => '+275760-09-13T00:00:00Z'),
  wrong(() => Object.create(Date.prototype)),
  wrong(() => null),
];
const payloads: readonly Part[] = [
  right(() => 1),
  right(() => null),
  right(() => 'a\0b\ud800'),
  right(() => ({ 'a\0': ['\udfff', -0, Number.NaN, 1e308] })),
  right(polluting),
  right(() => ({ toJSON: () => 'a lie' })),
  right(() => new Map([[1, 2]])),
  right(() => Array(5)),
  right(() => nested(500)),
  right(() => 'x'.repeat(5000)),
  right(() => new Proxy({ a: 1 }, {})),
  wrong(() => 1n),
  wrong(looped),
  wrong(() => undefined),
  wrong(() => Symbol('payload')),
  wrong(() => ({ toJSON: trap })),
  wrong(() => Object.defineProperty({}, 'a', { enumerable: true, get: trap })),
  wrong(revoked),
  wrong(() => nested(100_000)),
];
const keys: readonly Part[] = [
  right(() => undefined),
  right(() => null),
  wrong(() => ''),
  wrong(() => 7),
  wrong(() => ({})),
];
const cursors: readonly (Part & { stored: unknown })[] = [
  { ...right(() => undefined), stored: null },
  { ...right(() => null), stored: null },
  { ...right(() => 0), stored: 0 },
  { ...right(() => ({ at: 'next' })), stored: { at: 'next' } },
  { ...right(() => JSON.parse('{"__proto__":1}')), stored: JSON.parse('{"__proto__":1}') },
  { ...right(() => ({ toJSON: () => [1] })), stored: [1] },
  { ...right(() => String.raw`\u0000`), stored: String.raw`\u0000` },
  { ...wrong(() => 'a\0b'), stored: null },
  { ...wrong(() => ['\ud800']), stored: null },
  { ...wrong(() => 1n), stored: null },
  { ...wrong(looped), stored: null },
  { ...wrong(() => Symbol('cursor')), stored: null },
  { ...wrong(() => 'c'.repeat(300_000)), stored: null },
  { ...wrong(revoked), stored: null },
];
const mores: readonly Part[] = [
  right(() => undefined),
  right(() => false),
  wrong(() => 'true'),
  wrong(() => 1),
  wrong(() => null),
];
const waits: readonly Part[] = [
  right(() => undefined),
  right(() => 0),
  right(() => 1e308),
  wrong(() => -1),
  wrong(() => Number.NaN),
  right(() => '60'),
  right(() => null),
  wrong(() => 'soon'),
  wrong(() => 60n),
];

const kind = Symbol.for('syncline.connector-error');
const thrown: readonly { make: () => unknown; status: 'queued' | 'failed' }[] = [
  { make: () => undefined, status: 'queued' },
  { make: () => null, status: 'queued' },
  { make: () => 'text', status: 'queued' },
  { make: () => Symbol('thrown'), status: 'queued' },
  { make: () => 7n, status: 'queued' },
  { make: revoked, status: 'queued' },
  { make: looped, status: 'queued' },
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

/** Mostly right in each of its parts, so that every part decides often enough. */
function pick<T extends Part>(chance: Chance, parts: readonly T[]): T {
  return chance.pick(chance.percent(92) ? parts.filter(({ isRight }) => isRight) : parts);
}

function signalOf(chance: Chance, key: string): Part {
  if (chance.percent(2)) return wrong(chance.pick([() => null, () => [], () => 7, revoked, () => 'signal']));
  const fields = { kind: kinds, occurredAt: times, payload: payloads };
  const parts = Object.entries(fields).map(([name, some]) => [name, pick(chance, some)] as const);
  const own = chance.percent(60) ? right(() => key) : pick(chance, keys);
  const all = [...parts, ['dedupeKey', own] as const];
  const isRight = all.every(([, part]) => part.isRight);
  const make = () => Object.fromEntries(all.map(([name, part]) => [name, part.make()]));
  return { make, isRight };
}

/** How it is handed over. */
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
  const more = pick(chance, mores);
  const wait = pick(chance, waits);
  const list = chance.percent(3)
    ? chance.pick([() => undefined, () => ({ length: 0 }), () => new Set(), () => Array(2)])
    : undefined;
  const wrap = chance.pick(wrappings);
  const isRight =
    !list && cursor.isRight && more.isRight && wait.isRight && signals.every((part) => part.isRight);
  return {
    make: () =>
      wrap({
        signals: list ? list() : signals.map((part) => part.make()),
        nextCursor: cursor.make(),
        hasMore: more.make(),
        retryAfterSeconds: wait.make(),
      }),
    expected: isRight
      ? { status: 'succeeded', signals: count, cursor: cursor.stored }
      : { status: 'queued', signals: 0, cursor: null },
  };
}
