import { type Version, type WatchedTable, type Written, watchedTables } from './history.ts';
import {
  type Batch,
  type Connection,
  type Event,
  isEnded,
  isPending,
  isRunning,
  type Job,
  type Process,
  type Signal,
} from './rows.ts';

/** What a transaction made of a row, from before its first write to after its last. */
export interface Change<Row> {
  before: Row | undefined;
  after: Row | undefined;
}

/** One committed transaction. */
export interface Commit extends Omit<Written, 'versions'> {
  connections: Change<Connection>[];
  jobs: Change<Job>[];
  signals: Change<Signal>[];
  processes: Change<Process>[];
  batches: Change<Batch>[];
  events: Event[];
  /** What was there when the history began: nobody's doing. */
  isStart: boolean;
  /** Written by somebody who gave their session no name: not the engine, which always does. */
  isStrange: boolean;
}

export function commitOf({ versions, ...written }: Written): Commit {
  const net = netChanges(versions);
  const of = <Row>(table: WatchedTable) => [...net[table].values()] as Change<Row>[];
  return {
    ...written,
    connections: of<Connection>('connections'),
    jobs: of<Job>('sync_jobs'),
    signals: of<Signal>('signals'),
    processes: of<Process>('processes'),
    batches: of<Batch>('feed'),
    events: of<Event>('events').flatMap(({ after }) => after ?? []),
    isStart: versions.some(({ operation }) => operation === 'START'),
    isStrange: written.writer === '',
  };
}

function netChanges(versions: Version[]): Record<WatchedTable, Map<string, Change<unknown>>> {
  const net = {
    connections: new Map(),
    sync_jobs: new Map(),
    signals: new Map(),
    processes: new Map(),
    events: new Map(),
    feed: new Map(),
  };
  for (const { table, before, after } of versions) {
    const changes: Map<string, Change<unknown>> = net[table];
    const id = (after ?? before) as Record<string, string>;
    const key = id[watchedTables[table]] as string;
    const known = changes.get(key);
    if (known) known.after = after;
    else changes.set(key, { before, after });
  }
  for (const changes of Object.values(net))
    for (const [key, { before, after }] of changes)
      if (before === undefined && after === undefined) changes.delete(key);
  return net;
}

/** Everything that is committed, as of the transaction that was replayed last. */
export class World {
  readonly connections = new Map<string, Connection>();
  readonly jobs = new Map<string, Job>();
  readonly processes = new Map<string, Process>();
  readonly batches = new Map<string, Batch>();
  /** How long a process's lease lasts, as its first one told. */
  readonly leaseMs = new Map<string, number>();
  /** Processes whose leases are judged by the clock of the database. */
  readonly onDatabaseClock = new Set<string>();
  /** In which transaction each claim was first seen. */
  readonly claims = new Map<string, string>();
  /** Stored signals with a dedupe key, by connection and key. */
  readonly keys = new Map<string, number>();
  /** Batches by their place in the feed. */
  readonly places = new Map<number, Set<string>>();
  readonly #pending = new Map<string, Set<string>>();
  readonly #runningOf = new Map<string, Set<string>>();
  readonly #processOf = new Map<string, string>();
  readonly #placeOf = new Map<string, string>();
  readonly #slots = new Map<string, string>();

  /** The jobs of a connection that are queued or running. */
  pendingOf(connectionId: string): Job[] {
    return this.#jobs(this.#pending.get(connectionId));
  }

  /** The jobs that run under a process. */
  runningUnder(processId: string): Job[] {
    return this.#jobs(this.#runningOf.get(processId));
  }

  /** The process that a session last claimed jobs for: a session belongs to one process, which may come by another lease. */
  processOf(session: string): string | undefined {
    return this.#processOf.get(session);
  }

  /** Where a process runs, also after it is gone. */
  placeOf(processId: string): string | undefined {
    return this.#placeOf.get(processId);
  }

  /** How long the lease of a process still lasts, by the clock that it is judged by; undefined if it has none. */
  leaseLeftMs(processId: string, commit: Commit, ownTimeMs: number): number | undefined {
    const lease = this.processes.get(processId);
    if (!lease) return undefined;
    return Date.parse(lease.expires_at) - (this.onDatabaseClock.has(processId) ? commit.atMs : ownTimeMs);
  }

  keyCount({ connection_id, dedupe_key }: Signal): number {
    return this.keys.get(`${connection_id} ${dedupe_key}`) ?? 0;
  }

  /**
   * Notes that a job was placed in a slot of its connection, and returns the one that has the slot. One that ended before its slot
   * came, by hand, leaves it to another.
   */
  holderOfSlot({ connection_id, id }: Job, slotMs: number): string {
    const slot = `${connection_id} ${slotMs}`;
    const first = this.jobs.get(this.#slots.get(slot) ?? '');
    const isLeft = isEnded(first) && Date.parse(first.finished_at ?? '') < slotMs;
    const holder = isLeft ? id : (this.#slots.get(slot) ?? id);
    this.#slots.set(slot, holder);
    return holder;
  }

  apply(commit: Commit): void {
    for (const { before, after } of commit.connections) put(this.connections, before?.id, after?.id, after);
    for (const { before, after } of commit.batches) this.#applyBatch(before, after);
    for (const { before, after } of commit.processes) this.#applyProcess(before, after, commit);
    for (const { before, after } of commit.jobs) this.#applyJob(before, after, commit);
    for (const { before, after } of commit.signals) {
      if (before) this.#countKey(before, -1);
      if (after) this.#countKey(after, 1);
    }
  }

  #applyJob(before: Job | undefined, after: Job | undefined, commit: Commit): void {
    put(this.jobs, before?.id, after?.id, after);
    if (before) remove(this.#pending, before.connection_id, before.id);
    if (before?.process_id) remove(this.#runningOf, before.process_id, before.id);
    if (!after) return;
    if (isPending(after)) add(this.#pending, after.connection_id, after.id);
    if (!after.claim_id) return;
    if (!this.claims.has(after.claim_id)) this.claims.set(after.claim_id, commit.position);
    if (!isRunning(after) || !after.process_id) return;
    add(this.#runningOf, after.process_id, after.id);
    if (!commit.isStart && !isRunning(before)) this.#processOf.set(commit.session, after.process_id);
  }

  #applyProcess(before: Process | undefined, after: Process | undefined, commit: Commit): void {
    put(this.processes, before?.id, after?.id, after);
    if (after) this.#placeOf.set(after.id, `${after.host} ${after.pid}`);
    if (before || !after || commit.isStart) return;
    const startedMs = Date.parse(after.started_at);
    this.leaseMs.set(after.id, Date.parse(after.expires_at) - startedMs);
    if (Math.abs(commit.atMs - startedMs) < 1000) this.onDatabaseClock.add(after.id);
  }

  #applyBatch(before: Batch | undefined, after: Batch | undefined): void {
    put(this.batches, before?.batch, after?.batch, after);
    if (before && before.position !== null) remove(this.places, before.position, before.batch);
    if (after && after.position !== null) add(this.places, after.position, after.batch);
  }

  #countKey(signal: Signal, by: number): void {
    if (signal.dedupe_key !== null)
      this.keys.set(`${signal.connection_id} ${signal.dedupe_key}`, this.keyCount(signal) + by);
  }

  #jobs(ids: Iterable<string> = []): Job[] {
    return [...ids].flatMap((id) => this.jobs.get(id) ?? []);
  }
}

function put<Row>(
  rows: Map<string, Row>,
  oldId: string | undefined,
  id: string | undefined,
  row: Row | undefined,
): void {
  if (oldId !== undefined) rows.delete(oldId);
  if (id !== undefined && row !== undefined) rows.set(id, row);
}

function add<Key>(sets: Map<Key, Set<string>>, key: Key, id: string): void {
  const set = sets.get(key);
  if (set) set.add(id);
  else sets.set(key, new Set([id]));
}

function remove<Key>(sets: Map<Key, Set<string>>, key: Key, id: string): void {
  const set = sets.get(key);
  set?.delete(id);
  if (set?.size === 0) sets.delete(key);
}
