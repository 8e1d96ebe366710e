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

/** The net change of a row in one transaction. */
export interface Change<Row> {
  before: Row | undefined;
  after: Row | undefined;
}

export interface Commit extends Omit<Written, 'versions'> {
  connections: Change<Connection>[];
  jobs: Change<Job>[];
  signals: Change<Signal>[];
  processes: Change<Process>[];
  batches: Change<Batch>[];
  events: Event[];
  isStart: boolean;
  /** Not by the engine, which always sets application_name. */
  isForeign: boolean;
}

export function commitOf({ versions, ...written }: Written): Commit {
  const net = netChanges(versions);
  const changesOf = <Row>(table: WatchedTable) => [...net[table].values()] as Change<Row>[];
  return {
    ...written,
    connections: changesOf<Connection>('connections'),
    jobs: changesOf<Job>('sync_jobs'),
    signals: changesOf<Signal>('signals'),
    processes: changesOf<Process>('processes'),
    batches: changesOf<Batch>('feed'),
    events: changesOf<Event>('events').flatMap(({ after }) => after ?? []),
    isStart: versions.some(({ operation }) => operation === 'START'),
    isForeign: written.writer === '',
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
    const row = (after ?? before) as Record<string, string>;
    const key = row[watchedTables[table]] as string;
    const earlier = changes.get(key);
    if (earlier) earlier.after = after;
    else changes.set(key, { before, after });
  }
  for (const changes of Object.values(net))
    for (const [key, { before, after }] of changes)
      if (before === undefined && after === undefined) changes.delete(key);
  return net;
}

/** The committed rows after the last replayed transaction. */
export class DatabaseState {
  readonly connections = new Map<string, Connection>();
  readonly jobs = new Map<string, Job>();
  readonly processes = new Map<string, Process>();
  readonly batches = new Map<string, Batch>();
  /** Lease duration by process, from its first lease. */
  readonly leaseMs = new Map<string, number>();
  /** Processes whose leases use the database's clock. */
  readonly onDatabaseClock = new Set<string>();
  readonly claims = new Map<string, string>();
  readonly keys = new Map<string, number>();
  readonly batchesByPosition = new Map<number, Set<string>>();
  readonly #pending = new Map<string, Set<string>>();
  readonly #runningOf = new Map<string, Set<string>>();
  readonly #processOf = new Map<string, string>();
  readonly #hostOf = new Map<string, string>();
  readonly #slots = new Map<string, string>();

  pendingOf(connectionId: string): Job[] {
    return this.#jobs(this.#pending.get(connectionId));
  }

  runningUnder(processId: string): Job[] {
    return this.#jobs(this.#runningOf.get(processId));
  }

  /** The process for which a session last claimed. */
  processOf(session: string): string | undefined {
    return this.#processOf.get(session);
  }

  /** Host and pid of a process, also after its row is deleted. */
  hostOf(processId: string): string | undefined {
    return this.#hostOf.get(processId);
  }

  /** Undefined without a lease. */
  leaseLeftMs(processId: string, commit: Commit, ownTimeMs: number): number | undefined {
    const lease = this.processes.get(processId);
    if (!lease) return undefined;
    return Date.parse(lease.expires_at) - (this.onDatabaseClock.has(processId) ? commit.atMs : ownTimeMs);
  }

  keyCount({ connection_id, dedupe_key }: Signal): number {
    return this.keys.get(`${connection_id} ${dedupe_key}`) ?? 0;
  }

  /** Records a job in a slot and returns the holder. A job ended before its slot frees it. */
  holderOfSlot({ connection_id, id }: Job, slotMs: number): string {
    const slot = `${connection_id} ${slotMs}`;
    const first = this.jobs.get(this.#slots.get(slot) ?? '');
    const isFree = isEnded(first) && Date.parse(first.finished_at ?? '') < slotMs;
    const holder = isFree ? id : (this.#slots.get(slot) ?? id);
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
    if (after) this.#hostOf.set(after.id, `${after.host} ${after.pid}`);
    if (before || !after || commit.isStart) return;
    const startedMs = Date.parse(after.started_at);
    this.leaseMs.set(after.id, Date.parse(after.expires_at) - startedMs);
    if (Math.abs(commit.atMs - startedMs) < 1000) this.onDatabaseClock.add(after.id);
  }

  #applyBatch(before: Batch | undefined, after: Batch | undefined): void {
    put(this.batches, before?.batch, after?.batch, after);
    if (before && before.position !== null) remove(this.batchesByPosition, before.position, before.batch);
    if (after && after.position !== null) add(this.batchesByPosition, after.position, after.batch);
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
