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
 * `keyed`: every item has a dedupe key; pages may repeat and reorder items. `plain`: no keys, and pages
 * return each item once, so only the claim and the cursor prevent duplicates.
 */
export type ProviderKind = 'keyed' | 'plain';
export const providers: readonly ProviderKind[] = ['keyed', 'plain'];

/** One connection's data at its provider. Items are only added. */
export interface Account {
  connectionId: string;
  name: string;
  kind: ProviderKind;
  items: string[];
  /** Cursors are text instead of an object. */
  isOpaque: boolean;
}

export interface ProviderFaults {
  /** Calls for the first `poisonedAccounts` accounts kill their process. */
  poisonedAccounts: number;
  wrongPages: number;
  errors: number;
  stalls: number;
}

export interface CallResult {
  account: Account;
  jobId: string;
  what: string;
  /** Whether a follow-up job is required; undefined for errors. */
  hasNextPage?: boolean;
}

export interface FakeProvider {
  accounts: readonly Account[];
  grow(account: Account, count: number): void;
  connectors(call: CallSync): Connector[];
  stopFaults(): void;
  stopKilling(): void;
}

/** `kills`: the call crashes its engine. */
type CallSync = (
  label: string,
  work: () => SyncResult,
  delayMs: number,
  kills: boolean,
) => Promise<SyncResult>;

const pageSize = 2;
const occurredAt = '2025-01-01T10:00:00Z';

export function createFakeProvider(
  random: Random,
  providerFaults: ProviderFaults,
  onCall: (result: CallResult) => void,
): FakeProvider {
  const current = { ...providerFaults };
  const accounts = Array.from({ length: random.integer(2, 5) }, (_, i) => newAccount(random, i));

  function page(account: Account, context: SyncContext): SyncResult {
    const start = offsetOf(context.cursor);
    const call = { account, jobId: context.job.id };
    if (random.chance(current.errors)) {
      const what = random.pick(account.kind === 'keyed' ? errorKinds : plainErrorKinds);
      onCall({ ...call, what: `throws ${what}` });
      throw errorOf(what, random);
    }
    const correct = correctPage(account, start);
    const fault = random.chance(current.wrongPages)
      ? random.pick(account.kind === 'keyed' ? keyedPageFaults : plainPageFaults)
      : undefined;
    const result = fault ? wrongPage(fault, account, start, correct) : correct;
    const what = `${fault ?? 'returns'}: ${result.signals.length} items from ${start}`;
    onCall({ ...call, what, hasNextPage: requiresNextPage(result, context.cursor) });
    return result;
  }

  function wrongPage(fault: PageFault, account: Account, start: number, correct: SyncResult): SyncResult {
    switch (fault) {
      case 'hasMore is wrong':
        return { ...correct, hasMore: true };
      case 'hasMore without a cursor':
        // Only on the empty last page: otherwise this page would be returned again.
        return correct.signals.length === 0 ? { signals: [], hasMore: true } : { ...correct, hasMore: true };
      case 'empty page':
        return { signals: [], nextCursor: cursorAt(account, start), hasMore: true };
      case 'repeats earlier items':
        return {
          ...correct,
          signals: [...correctPage(account, Math.max(0, start - 4)).signals, ...correct.signals],
        };
      case 'duplicates and shuffles':
        return { ...correct, signals: random.shuffled([...correct.signals, ...correct.signals]) };
      case 'cursor does not advance':
        return { ...correct, nextCursor: cursorAt(account, start), hasMore: true };
      case 'cursor goes back':
        return { ...correct, nextCursor: cursorAt(account, Math.max(0, start - 2)), hasMore: true };
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
            const delayMs = random.chance(current.stalls)
              ? random.integer(1000, 90_000)
              : random.integer(0, 200);
            const kills = accounts.indexOf(account) < current.poisonedAccounts;
            return call(`fetches a page of ${account.name}`, () => page(account, context), delayMs, kills);
          },
        }),
      ),
    stopFaults: () => Object.assign(current, { wrongPages: 0, errors: 0, stalls: 0 }),
    stopKilling: () => Object.assign(current, { poisonedAccounts: 0 }),
  };
}

function newAccount(random: Random, index: number): Account {
  const name = `c${index}`;
  const items = Array.from({ length: random.integer(0, 12) }, (_, i) => `${name}/${i}`);
  return {
    connectionId: `00000000-0000-4000-8000-${String(index + 1).padStart(12, '0')}`,
    name,
    kind: index < 2 ? (providers[index] as ProviderKind) : random.pick(providers),
    items,
    isOpaque: random.chance(0.5),
  };
}

type PageFault =
  | 'hasMore is wrong'
  | 'hasMore without a cursor'
  | 'empty page'
  | 'repeats earlier items'
  | 'duplicates and shuffles'
  | 'cursor does not advance'
  | 'cursor goes back';
const plainPageFaults: readonly PageFault[] = ['hasMore is wrong', 'hasMore without a cursor', 'empty page'];
const keyedPageFaults: readonly PageFault[] = [
  ...plainPageFaults,
  'repeats earlier items',
  'duplicates and shuffles',
  'cursor does not advance',
  'cursor goes back',
];

const errorKinds = [
  'rate limited',
  'rate limited',
  'parked',
  'unauthorized',
  'unauthorized',
  'permanent',
  'cursor expired',
  'a string',
  'undefined',
  'an error',
  'an unreadable object',
] as const;
const plainErrorKinds = errorKinds.filter((kind) => kind !== 'cursor expired');

/** EXE-6. */
function requiresNextPage({ signals, nextCursor, hasMore }: SyncResult, cursor: unknown): boolean {
  if (!hasMore || nextCursor === undefined || nextCursor === null) return false;
  return signals.length > 0 || !isDeepStrictEqual(nextCursor, cursor);
}

/** `verdict.ts` reads the delay from this message, because the row has no other trace of it. */
function rateLimited(retryAfterSeconds: number, parked = false): RateLimitedError {
  return new RateLimitedError({ retryAfterSeconds, parked, message: `Retry after ${retryAfterSeconds} s.` });
}

function errorOf(kind: (typeof errorKinds)[number], random: Random): unknown {
  switch (kind) {
    case 'rate limited':
      return rateLimited(random.integer(1, 40));
    case 'parked':
      return rateLimited(random.integer(1, 40), true);
    case 'unauthorized':
      return new UnauthorizedError();
    case 'permanent':
      return new PermanentError('It will never work.');
    case 'cursor expired':
      return new CursorExpiredError();
    case 'a string':
      return 'something went wrong';
    case 'undefined':
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

function correctPage(account: Account, start: number): SyncResult {
  const pageItems = account.items.slice(start, start + pageSize);
  const next = start + pageItems.length;
  return {
    signals: pageItems.map((item) => ({
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
