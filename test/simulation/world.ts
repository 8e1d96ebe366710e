import { isDeepStrictEqual } from 'node:util';
import {
  type Connector,
  CursorExpiredError,
  defineConnector,
  PermanentError,
  RateLimitedError,
  type SyncContext,
  type SyncResult,
  UnauthorizedError,
} from '../../src/index.ts';
import type { Random } from './random.ts';

/**
 * `keyed`: shows items again, in any order, and sends readers back; every item has a dedupe key. `plain`: no keys, each item
 * is shown once by an honest walk, so nothing but the claim and the cursor keep it from being stored twice.
 */
export type ProviderKind = 'keyed' | 'plain';
export const providers: readonly ProviderKind[] = ['keyed', 'plain'];

/** What a provider has for one connection. Items are only ever added. */
export interface Account {
  connectionId: string;
  name: string;
  kind: ProviderKind;
  items: string[];
  /** Whether its cursors are numbers, or text that says nothing. */
  isOpaque: boolean;
}

export interface Temper {
  /** Of the first accounts, so many kill the process that calls for them. */
  poisonous: number;
  /** How often a call is answered with a lie, with an error, or only after a long time. */
  lies: number;
  throws: number;
  stalls: number;
}

/** What a call came to. */
export interface Told {
  account: Account;
  jobId: string;
  what: string;
  /** Whether another page must follow if this one is stored; undefined where nothing was shown. */
  goesOn?: boolean;
}

export interface World {
  accounts: readonly Account[];
  /** Something new at a provider. */
  grow(account: Account, count: number): void;
  connectors(call: CallSync): Connector[];
  /** From now on every provider is honest and answers. */
  calmDown(): void;
  /** From now on no call kills its process. */
  cure(): void;
}

/** Has a page fetched in a step of its own. With `kills` the engine dies of it. */
type CallSync = (
  label: string,
  work: () => SyncResult,
  delayMs: number,
  kills: boolean,
) => Promise<SyncResult>;

const pageSize = 2;
const occurredAt = '2025-01-01T10:00:00Z';

export function createWorld(random: Random, temper: Temper, onTold: (told: Told) => void): World {
  const current = { ...temper };
  const accounts = Array.from({ length: random.whole(2, 5) }, (_, i) => newAccount(random, i));

  function page(account: Account, context: SyncContext): SyncResult {
    const start = offsetOf(context.cursor);
    const told = { account, jobId: context.job.id };
    if (random.chance(current.throws)) {
      const what = random.pick(account.kind === 'keyed' ? complaints : plainComplaints);
      onTold({ ...told, what: `throws ${what}` });
      throw complaint(what, random);
    }
    const honest = honestPage(account, start);
    const lie = random.chance(current.lies)
      ? random.pick(account.kind === 'keyed' ? keyedLies : plainLies)
      : undefined;
    const result = lie ? lied(lie, account, start, honest) : honest;
    const what = `${lie ?? 'shows'} ${result.signals.length} from ${start}`;
    onTold({ ...told, what, goesOn: mustGoOn(result, context.cursor) });
    return result;
  }

  function lied(lie: Lie, account: Account, start: number, honest: SyncResult): SyncResult {
    switch (lie) {
      case 'says there is more':
        return { ...honest, hasMore: true };
      case 'says there is more without a cursor':
        // Only where nothing is left: otherwise what it shows now would be shown again.
        return honest.signals.length === 0 ? { signals: [], hasMore: true } : { ...honest, hasMore: true };
      case 'shows nothing':
        return { signals: [], nextCursor: cursorAt(account, start), hasMore: true };
      case 'repeats':
        return {
          ...honest,
          signals: [...honestPage(account, Math.max(0, start - 4)).signals, ...honest.signals],
        };
      case 'shuffles':
        return { ...honest, signals: random.shuffled([...honest.signals, ...honest.signals]) };
      case 'stays':
        return { ...honest, nextCursor: cursorAt(account, start), hasMore: true };
      case 'goes back':
        return { ...honest, nextCursor: cursorAt(account, Math.max(0, start - 2)), hasMore: true };
    }
  }

  return {
    accounts,
    grow: ({ items, name }, count) => {
      for (let i = 0; i < count; i++) items.push(`${name}/${items.length}`);
    },
    connectors: (call) =>
      providers.map((provider) =>
        defineConnector({
          provider,
          name: provider,
          sync: (context) => {
            const account = accounts.find(({ connectionId }) => connectionId === context.connection.id);
            if (!account) throw new PermanentError('There is no such account.');
            const delayMs = random.chance(current.stalls) ? random.whole(1000, 90_000) : random.whole(0, 200);
            const kills = accounts.indexOf(account) < current.poisonous;
            return call(`fetches a page of ${account.name}`, () => page(account, context), delayMs, kills);
          },
        }),
      ),
    calmDown: () => Object.assign(current, { lies: 0, throws: 0, stalls: 0 }),
    cure: () => Object.assign(current, { poisonous: 0 }),
  };
}

function newAccount(random: Random, index: number): Account {
  const name = `c${index}`;
  const items = Array.from({ length: random.whole(0, 12) }, (_, i) => `${name}/${i}`);
  return {
    connectionId: `00000000-0000-4000-8000-${String(index + 1).padStart(12, '0')}`,
    name,
    kind: index < 2 ? (providers[index] as ProviderKind) : random.pick(providers),
    items,
    isOpaque: random.chance(0.5),
  };
}

type Lie =
  | 'says there is more'
  | 'says there is more without a cursor'
  | 'shows nothing'
  | 'repeats'
  | 'shuffles'
  | 'stays'
  | 'goes back';
const plainLies: readonly Lie[] = [
  'says there is more',
  'says there is more without a cursor',
  'shows nothing',
];
const keyedLies: readonly Lie[] = [...plainLies, 'repeats', 'shuffles', 'stays', 'goes back'];

const complaints = [
  'rate limited',
  'rate limited',
  'parked',
  'unauthorized',
  'unauthorized',
  'permanent',
  'cursor expired',
  'a text',
  'nothing',
  'an error',
  'an unreadable object',
] as const;
const plainComplaints = complaints.filter((one) => one !== 'cursor expired');

/** EXE-6. */
function mustGoOn({ signals, nextCursor, hasMore }: SyncResult, cursor: unknown): boolean {
  if (!hasMore || nextCursor === undefined || nextCursor === null) return false;
  return signals.length > 0 || !isDeepStrictEqual(nextCursor, cursor);
}

function complaint(what: (typeof complaints)[number], random: Random): unknown {
  switch (what) {
    case 'rate limited':
      return new RateLimitedError({ retryAfterSeconds: random.whole(1, 40) });
    case 'parked':
      return new RateLimitedError({ retryAfterSeconds: random.whole(1, 40), parked: true });
    case 'unauthorized':
      return new UnauthorizedError();
    case 'permanent':
      return new PermanentError('It will never work.');
    case 'cursor expired':
      return new CursorExpiredError();
    case 'a text':
      return 'something went wrong';
    case 'nothing':
      return undefined;
    case 'an error':
      return new TypeError('fetch failed');
    case 'an unreadable object':
      return Object.defineProperty({}, 'message', {
        get: () => {
          throw new Error('unreadable');
        },
      });
  }
}

function honestPage(account: Account, start: number): SyncResult {
  const shown = account.items.slice(start, start + pageSize);
  const next = start + shown.length;
  return {
    signals: shown.map((item) => ({
      kind: 'item.seen',
      occurredAt,
      payload: { item },
      dedupeKey: account.kind === 'keyed' ? item : undefined,
    })),
    nextCursor: cursorAt(account, next),
    hasMore: next < account.items.length,
  };
}

function cursorAt({ isOpaque }: Account, offset: number): unknown {
  return isOpaque ? `place-${offset}` : { after: offset };
}

function offsetOf(cursor: unknown): number {
  if (typeof cursor === 'string') return Number(cursor.replace('place-', ''));
  return (cursor as { after?: number } | undefined)?.after ?? 0;
}
