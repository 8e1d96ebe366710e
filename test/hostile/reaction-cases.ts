import { signal } from '../support/connector.ts';
import { circular, revoked, thenable, trap } from './odd-values.ts';

/** A connector's reaction to a delivery and the expected response. A sync always follows. */
export interface ReactionCase {
  name: string;
  react: () => unknown;
  response: { status: number; text: string };
  /** Signals stored immediately. */
  signals?: number;
}

const accepted = { status: 202, text: '{"accepted":true}' };
const thrown = (value: unknown) => (): unknown => {
  throw value;
};

export const reactionCases: readonly ReactionCase[] = [
  { name: 'throws undefined', react: thrown(undefined), response: accepted },
  { name: 'throws a revoked proxy', react: thrown(revoked()), response: accepted },
  {
    name: 'throws an error whose message throws',
    react: thrown(Object.defineProperty(new Error('x'), 'message', { get: trap })),
    response: accepted,
  },
  { name: 'throws an object without a prototype', react: thrown(Object.create(null)), response: accepted },
  { name: 'rejects with a symbol', react: () => Promise.reject(Symbol('odd')), response: accepted },
  { name: 'returns a revoked proxy', react: revoked, response: accepted },
  { name: 'returns text', react: () => 'reply', response: accepted },
  {
    name: 'returns a field that throws',
    react: () => Object.defineProperty({}, 'signals', { get: trap }),
    response: accepted,
  },
  {
    name: 'returns an object whose then throws',
    react: () => Object.defineProperty({}, 'then', { get: trap }),
    response: accepted,
  },
  { name: 'returns a thenable that never settles', react: () => thenable(() => {}), response: accepted },
  { name: 'replies with a BigInt', react: () => ({ reply: 1n }), response: accepted },
  {
    name: 'replies with a circular object',
    react: () => ({ reply: circular() }),
    response: accepted,
  },
  { name: 'replies with a function', react: () => ({ reply: () => 1 }), response: accepted },
  {
    name: 'replies with an object that can be serialized only once',
    react: () => {
      let times = 0;
      return { reply: { toJSON: () => (++times === 1 ? { once: true } : trap()) } };
    },
    response: { status: 200, text: '{"once":true}' },
  },
  {
    name: 'replies with header injection',
    react: () => ({ reply: 'a\r\nset-cookie: b=c' }),
    response: { status: 200, text: 'a\r\nset-cookie: b=c' },
  },
  {
    name: 'returns a misspelled key',
    react: () => ({ sync: false, signls: [signal(1)] }),
    response: accepted,
  },
  { name: 'returns an invalid signal', react: () => ({ signals: [null] }), response: accepted },
  { name: 'returns a sparse list of signals', react: () => ({ signals: Array(3) }), response: accepted },
  {
    name: 'returns signals that are not a list',
    react: () => ({ signals: { length: 1 } }),
    response: accepted,
  },
  {
    name: 'returns a signal with NUL, which is replaced',
    react: () => ({ signals: [signal('a\0b', 'k')] }),
    response: accepted,
    signals: 1,
  },
  {
    name: 'returns the same signal twice',
    react: () => ({ signals: [signal(1, 'same'), signal(2, 'same')] }),
    response: accepted,
    signals: 1,
  },
];
