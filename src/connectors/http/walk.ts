import { PermanentError, type Signal, type SyncResult } from '../../connector-kit/index.ts';
import { inSlices } from '../../platform/slices.ts';
import type { CursorDescription, StreamDescription } from './description.ts';
import { type Answer, fingerprint, isPerishable, nextPage, type Pointer } from './pages.ts';
import { pathOf, valueAt } from './paths.ts';
import {
  ended,
  isBefore,
  isRequeried,
  limitOf,
  movedTo,
  placeOf,
  positionsOf,
  reachedBy,
  requireOrder,
  startOf,
} from './progress.ts';
import type { ToSignal } from './records.ts';
import { moveMark, type StreamCursor, type Walk } from './stream-cursor.ts';
import { type Position, toPosition } from './times.ts';

/** Providers that filter after they have cut pages send empty ones; nobody sends a hundred in a row. */
const maxEmptyPages = 100;
/** New records push old ones on to the next page, so one page may come twice. Not four times. */
const maxSamePages = 3;

export interface WalkedStream {
  name: string;
  description: StreamDescription;
  toSignal: ToSignal;
  origin: string;
  secretParameter: string | undefined;
}

/** Asks for a page; undefined where the provider says that nothing has changed. */
export type Ask = (
  walk: Walk,
  pointer: Pointer | undefined,
  from: Position | undefined,
) => Promise<Answer | undefined>;

/** Pages with numbers shift when records come and go, also where the number is part of an address. */
function shifts(pointer: Pointer | undefined): boolean {
  if (pointer === undefined || 'token' in pointer) return false;
  return !('url' in pointer) || /[?&](?:page|p|offset|start|start_?at|skip)=\d+(?:&|$)/i.test(pointer.url);
}

/** One page of a stream. */
export async function walkOn(
  stream: WalkedStream,
  state: StreamCursor,
  ask: Ask,
  nowMs: number,
): Promise<SyncResult<StreamCursor>> {
  const { cursor } = stream.description;
  const walk: Walk = state.walk ?? begin(state, cursor, nowMs);
  const answer = await ask(walk, walk.page, walk.from);
  if (!answer) return { signals: [], nextCursor: state };
  // The page before once more, and after this one: what has moved up in between is found there.
  const again = shifts(walk.page) ? await ask(walk, walk.before, walk.from) : undefined;

  const positions = cursor ? positionsOf(stream.name, cursor, answer.records) : [];
  if (cursor) requireOrder(stream.name, cursor, positions);
  const signals = await signalsOf(stream, state, [...answer.records, ...(again?.records ?? [])]);
  return { signals, ...after(stream, state, { walk, answer, positions }) };
}

function begin({ watermark }: StreamCursor, cursor: CursorDescription | undefined, nowMs: number): Walk {
  const from = cursor && (watermark ?? startOf(cursor, nowMs));
  return { startedAt: new Date(nowMs).toISOString(), ...(from !== undefined && { from }) };
}

/** What is older than a list that comes newest first has to be read is no news: it is only on the same page. */
async function signalsOf(
  { name, description: { cursor }, toSignal }: WalkedStream,
  state: StreamCursor,
  records: readonly unknown[],
): Promise<Signal[]> {
  const limit = limitOf(state, cursor);
  const path = cursor && pathOf(cursor.path);
  const signals: Signal[] = [];
  await inSlices(records, (record, i) => {
    const where = placeOf(name, i);
    const position =
      cursor && path && limit !== undefined ? toPosition(cursor, valueAt(record, path), where) : undefined;
    const signal = isBefore(position, limit) ? undefined : toSignal(record, where);
    if (signal) signals.push(signal);
  });
  return signals;
}

interface ReadPage {
  walk: Walk;
  answer: Answer;
  positions: readonly Position[];
}

/** Where to go on after a page. */
function after(
  stream: WalkedStream,
  state: StreamCursor,
  page: ReadPage,
): Omit<SyncResult<StreamCursor>, 'signals'> {
  const { walk, answer, positions } = page;
  const { cursor, pagination = { type: 'none' } } = stream.description;
  const isRequery = isRequeried(stream.description);
  const longest = Math.max((isRequery ? state.longest : walk.longest) ?? 0, answer.records.length);
  const next = nextPage(pagination, answer, { ...stream, pointer: walk.page, longest });
  const reached = reachedBy(walk, cursor, positions);
  const kept = isRequery ? { ...state, longest } : state;
  const isOver =
    isBefore(positions.at(-1), limitOf(state, cursor)) ||
    next === undefined ||
    isStandingStill(walk, next, answer);
  if (isOver) return { nextCursor: ended(kept, walk, cursor, reached) };

  const moved = cursor && isRequery ? movedTo(walk, cursor, positions) : undefined;
  const onward: Walk =
    moved === undefined
      ? { ...walk, reached, longest, ...turned(walk, next, answer, stream) }
      : {
          startedAt: walk.startedAt,
          from: moved,
          reached,
          circle: markOf(stream.name, walk, { token: moved }),
        };
  return { nextCursor: { ...kept, walk: onward }, hasMore: true };
}

/** The same token again with nothing behind it is how some say that this is the end. */
function isStandingStill(walk: Walk, next: Pointer, answer: Answer): boolean {
  return (
    answer.records.length === 0 && walk.page !== undefined && fingerprint(next) === fingerprint(walk.page)
  );
}

/** On to the next page of the same query, unless that leads nowhere. */
function turned(
  walk: Walk,
  next: Pointer,
  answer: Answer,
  { name, description }: WalkedStream,
): Partial<Walk> {
  const empty = answer.records.length === 0 ? (walk.empty ?? 0) + 1 : 0;
  if (empty > maxEmptyPages)
    throw new PermanentError(
      `${name}: ${maxEmptyPages} pages in a row have no records, and there is still a next page.`,
    );
  const keyPaths = [description.signal.key].flat().map(pathOf);
  const keys = fingerprint(
    answer.records.map((record) => keyPaths.map((path) => valueAt(record, path) ?? null)),
  );
  const same = empty === 0 && keys === walk.keys ? (walk.same ?? 0) + 1 : 0;
  if (same >= maxSamePages)
    throw new PermanentError(
      `${name}: the provider sends the same records again and again. Does it know the parameter of the pagination?`,
    );
  const circle = isPerishable(next) ? markOf(name, walk, next) : walk.circle;
  return { page: next, before: walk.page, empty, same, keys, circle };
}

function markOf(name: string, walk: Walk, next: Pointer): Walk['circle'] {
  const circle = moveMark(walk.circle, next);
  if (!circle || (walk.page && fingerprint(next) === fingerprint(walk.page)))
    throw new PermanentError(
      `${name}: the pagination leads in a circle, back to a page that was read before.`,
    );
  return circle;
}
