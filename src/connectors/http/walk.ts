import { PermanentError, type Signal, type SyncResult } from '../../connector-kit/index.ts';
import { inSlices } from '../../platform/slices.ts';
import type { CursorDescription, StreamDescription } from './description.ts';
import { type Answer, canExpire, fingerprint, nextPage, type Pointer } from './pages.ts';
import { pathOf, valueAt } from './paths.ts';
import {
  finishWalk,
  isBefore,
  isQueriedPerPage,
  limitOf,
  nextQueryStart,
  placeOf,
  positionsOf,
  reachedBy,
  requireOrder,
  startOf,
} from './progress.ts';
import type { ToSignal } from './records.ts';
import { moveMark, type StreamCursor, type Walk } from './stream-cursor.ts';
import { type Position, toPosition } from './times.ts';

/** Providers may filter after pagination. */
const maxEmptyPages = 100;
/** Insertions shift records to the next page. */
const maxSamePages = 3;

export interface WalkedStream {
  name: string;
  description: StreamDescription;
  toSignal: ToSignal;
  origin: string;
  secretParameter: string | undefined;
}

/** Undefined on 304. */
export type FetchPage = (
  walk: Walk,
  pointer: Pointer | undefined,
  from: Position | undefined,
) => Promise<Answer | undefined>;

/** Inserts and deletes shift page numbers, also in URLs. */
function isPositional(pointer: Pointer | undefined): boolean {
  if (pointer === undefined || 'token' in pointer) return false;
  return !('url' in pointer) || /[?&](?:page|p|offset|start|start_?at|skip)=\d+(?:&|$)/i.test(pointer.url);
}

export async function readPage(
  stream: WalkedStream,
  state: StreamCursor,
  fetchPage: FetchPage,
  nowMs: number,
): Promise<SyncResult<StreamCursor>> {
  const { cursor } = stream.description;
  const walk: Walk = state.walk ?? startWalk(state, cursor, nowMs);
  const answer = await fetchPage(walk, walk.page, walk.from);
  if (!answer) return { signals: [], nextCursor: state };
  // Records may have shifted to the previous page.
  const reread = isPositional(walk.page) ? await fetchPage(walk, walk.before, walk.from) : undefined;

  const positions = cursor ? positionsOf(stream.name, cursor, answer.records) : [];
  if (cursor) requireOrder(stream.name, cursor, positions);
  const signals = await signalsOf(stream, state, [...answer.records, ...(reread?.records ?? [])]);
  return { signals, ...nextStep(stream, state, { walk, answer, positions }) };
}

function startWalk({ watermark }: StreamCursor, cursor: CursorDescription | undefined, nowMs: number): Walk {
  const from = cursor && (watermark ?? startOf(cursor, nowMs));
  return { startedAt: new Date(nowMs).toISOString(), ...(from !== undefined && { from }) };
}

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

function nextStep(
  stream: WalkedStream,
  state: StreamCursor,
  page: ReadPage,
): Omit<SyncResult<StreamCursor>, 'signals'> {
  const { walk, answer, positions } = page;
  const { cursor, pagination = { type: 'none' } } = stream.description;
  const isRequery = isQueriedPerPage(stream.description);
  const longest = Math.max((isRequery ? state.longest : walk.longest) ?? 0, answer.records.length);
  const next = nextPage(pagination, answer, { ...stream, pointer: walk.page, longest });
  const reached = reachedBy(walk, cursor, positions);
  const nextState = isRequery ? { ...state, longest } : state;
  const isFinished =
    isBefore(positions.at(-1), limitOf(state, cursor)) ||
    next === undefined ||
    repeatsToken(walk, next, answer);
  if (isFinished) return { nextCursor: finishWalk(nextState, walk, cursor, reached) };

  const requeryFrom = cursor && isRequery ? nextQueryStart(walk, cursor, positions) : undefined;
  const nextWalk: Walk =
    requeryFrom === undefined
      ? { ...walk, reached, longest, ...pageState(walk, next, answer, stream) }
      : {
          startedAt: walk.startedAt,
          from: requeryFrom,
          reached,
          circle: cycleMarkOf(stream.name, walk, { token: requeryFrom }),
        };
  return { nextCursor: { ...nextState, walk: nextWalk }, hasMore: true };
}

/** Some providers end by repeating the token, without records. */
function repeatsToken(walk: Walk, next: Pointer, answer: Answer): boolean {
  return (
    answer.records.length === 0 && walk.page !== undefined && fingerprint(next) === fingerprint(walk.page)
  );
}

function pageState(
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
      `${name}: the provider keeps sending the same records. Does it support the pagination parameter?`,
    );
  const circle = canExpire(next) ? cycleMarkOf(name, walk, next) : walk.circle;
  return { page: next, before: walk.page, empty, same, keys, circle };
}

function cycleMarkOf(name: string, walk: Walk, next: Pointer): Walk['circle'] {
  const circle = moveMark(walk.circle, next);
  if (!circle || (walk.page && fingerprint(next) === fingerprint(walk.page)))
    throw new PermanentError(
      `${name}: the pagination is circular: it returned to a page that was already read.`,
    );
  return circle;
}
