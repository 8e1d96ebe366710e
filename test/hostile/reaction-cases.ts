import { signal } from '../support/connector.ts';
import { looped, revoked, thenable, trap } from './odd-values.ts';

/** What a connector may make of a delivery, and what its sender hears. Whatever it is, a sync follows. */
export interface ReactionCase {
  name: string;
  react: () => unknown;
  answer: { status: number; text: string };
  /** How many signals are stored at once. */
  signals?: number;
}

const taken = { status: 202, text: '{"accepted":true}' };
const thrown = (value: unknown) => (): unknown => {
  throw value;
};

export const reactionCases: readonly ReactionCase[] = [
  { name: 'throws nothing', react: thrown(undefined), answer: taken },
  { name: 'throws what cannot be read', react: thrown(revoked()), answer: taken },
  {
    name: 'throws an error whose message throws',
    react: thrown(Object.defineProperty(new Error('x'), 'message', { get: trap })),
    answer: taken,
  },
  { name: 'throws an object without a prototype', react: thrown(Object.create(null)), answer: taken },
  { name: 'rejects with a symbol', react: () => Promise.reject(Symbol('odd')), answer: taken },
  { name: 'returns what cannot be read', react: revoked, answer: taken },
  { name: 'returns text', react: () => 'reply', answer: taken },
  {
    name: 'returns a field that throws',
    react: () => Object.defineProperty({}, 'signals', { get: trap }),
    answer: taken,
  },
  {
    name: 'has then that throws',
    react: () => Object.defineProperty({}, 'then', { get: trap }),
    answer: taken,
  },
  { name: 'has then that never calls back', react: () => thenable(() => {}), answer: taken },
  { name: 'replies with a BigInt', react: () => ({ reply: 1n }), answer: taken },
  {
    name: 'replies with itself',
    react: () => ({ reply: looped() }),
    answer: taken,
  },
  { name: 'replies with a function', react: () => ({ reply: () => 1 }), answer: taken },
  {
    name: 'replies with what can be written once',
    react: () => {
      let times = 0;
      return { reply: { toJSON: () => (++times === 1 ? { once: true } : trap()) } };
    },
    answer: { status: 200, text: '{"once":true}' },
  },
  {
    name: 'replies with text that wants to be headers',
    react: () => ({ reply: 'a\r\nset-cookie: b=c' }),
    answer: { status: 200, text: 'a\r\nset-cookie: b=c' },
  },
  { name: 'finds signals that are none', react: () => ({ signals: [null] }), answer: taken },
  { name: 'finds a list with holes', react: () => ({ signals: Array(3) }), answer: taken },
  { name: 'finds signals that are no list', react: () => ({ signals: { length: 1 } }), answer: taken },
  {
    name: 'finds a signal with NUL, which is replaced',
    react: () => ({ signals: [signal('a\0b', 'k')] }),
    answer: taken,
    signals: 1,
  },
  {
    name: 'finds the same signal twice',
    react: () => ({ signals: [signal(1, 'same'), signal(2, 'same')] }),
    answer: taken,
    signals: 1,
  },
];
