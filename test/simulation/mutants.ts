/** A plausible defect. The simulation must detect it. */
export interface Mutant {
  name: string;
  edits: readonly Edit[];
  /** Seeds that detected it before, tried first. */
  seeds: readonly number[];
}

export interface Edit {
  file: string;
  find: string;
  replace: string;
}

const commit = 'src/pipeline/commit.ts';
const judge = 'src/pipeline/judge.ts';
const claims = 'src/store/claims.ts';
const processes = 'src/store/processes.ts';
const settlements = 'src/store/settlements.ts';
const connections = 'src/store/connections.ts';
const lease = 'src/runtime/lease.ts';
const schemaSql = 'src/store/migrations/0010_schema.sql';
const jobTriggersSql = 'src/store/migrations/0013_job_triggers.sql';
const dueAtSql = 'src/store/migrations/0012_due_at.sql';

const noFence: Edit = {
  file: commit,
  find: 'settlements.filter(({ job }) => rows.get(job.id)?.claim_id === job.claimId)',
  replace: 'settlements.filter(({ job }) => rows.has(job.id))',
};

const ownClock: Edit = {
  file: 'src/syncline.ts',
  find: 'now: () => db.clock.nowMs(),',
  replace: 'now: () => outside.now(),',
};

/** If a second guard prevents the failure, a mutant removes both, and its name says so. */
export const mutants: readonly Mutant[] = [
  { name: 'no fence: a result is stored without checking the claim', seeds: [13], edits: [noFence] },
  {
    name: 'no fence, and a process that lost its lease does not abort its runs',
    seeds: [13],
    edits: [
      noFence,
      {
        file: lease,
        find: "    apply({ type: 'lost' });\n    onLost();",
        replace: "    apply({ type: 'lost' });",
      },
    ],
  },
  {
    name: 'a claim ignores that the connection is busy, and no unique index prevents it',
    seeds: [5],
    edits: [
      {
        file: claims,
        find: `
    AND (SELECT r.id FROM :schema.sync_jobs r
         WHERE r.connection_id = j.connection_id AND r.status = 'running' LIMIT 1) IS NULL
  RETURNING j.id`,
        replace: '\n  RETURNING j.id',
      },
      {
        file: schemaSql,
        find: 'CREATE UNIQUE INDEX idx_sync_jobs_running',
        replace: 'CREATE INDEX idx_sync_jobs_running',
      },
      // Otherwise the triggers and the claim mark jobs of a busy connection as blocked.
      {
        file: schemaSql,
        find: '    UPDATE sync_jobs SET blocked = true WHERE id = ANY (siblings);',
        replace: '    PERFORM 1;',
      },
      {
        file: 'src/pipeline/claim.ts',
        find: 'rows.filter((row) => !running.has(row.id)),',
        replace: '[],',
      },
    ],
  },
  {
    name: 'the cursor is stored before the claim is checked',
    seeds: [1],
    edits: [
      {
        file: commit,
        find: '  return db.transaction(\n    async (tx) => {\n      const { now } = tx;\n',
        replace:
          '  await db.transaction((tx) => writeConnections(tx, tx.now, settlements.map(connectionWrite)));\n  return db.transaction(\n    async (tx) => {\n      const { now } = tx;\n',
      },
    ],
  },
  {
    name: 'signals are stored outside the commit transaction',
    seeds: [1],
    edits: [
      {
        file: commit,
        find: 'await storeSignals(tx, now, holding,',
        replace: 'await storeSignals(db, now, holding,',
      },
    ],
  },
  {
    name: 'dedupe keys are ignored, and no unique index prevents duplicates',
    seeds: [2],
    edits: [
      {
        file: 'src/store/signals.ts',
        find: 'ON CONFLICT (connection_id, dedupe_key) WHERE dedupe_key IS NOT NULL DO NOTHING',
        replace: '',
      },
      {
        file: schemaSql,
        find: 'CREATE UNIQUE INDEX idx_signals_dedupe',
        replace: 'CREATE INDEX idx_signals_dedupe',
      },
    ],
  },
  {
    name: 'a committed result is stored again',
    seeds: [45],
    edits: [
      {
        file: commit,
        find: 'const running = claimed.filter(({ job }) => isRunning(rows.get(job.id)));',
        replace: 'const running = claimed;',
      },
    ],
  },
  {
    name: 'a process crash counts as an attempt',
    seeds: [3],
    edits: [
      {
        file: processes,
        find: "SET status = 'queued', process_id = NULL, claim_id = NULL,",
        replace: "SET status = 'queued', attempts = attempts + 1, process_id = NULL, claim_id = NULL,",
      },
    ],
  },
  {
    name: 'jobs are reaped from processes with a valid lease',
    seeds: [2],
    edits: [
      {
        file: processes,
        find: 'WHERE expires_at <= :now AND id <> :id',
        replace: 'WHERE id <> :id',
      },
      {
        file: processes,
        find: 'WHERE id = :id AND expires_at <= :now FOR UPDATE SKIP LOCKED',
        replace: 'WHERE id = :id AND :now::timestamptz IS NOT NULL FOR UPDATE SKIP LOCKED',
      },
    ],
  },
  {
    name: 'an expired lease is renewed',
    seeds: [5],
    edits: [
      {
        file: processes,
        find: 'WHERE id = :id AND expires_at > :now\n    RETURNING id',
        replace: 'WHERE id = :id\n    RETURNING id',
      },
    ],
  },
  {
    name: 'a process without a lease claims jobs',
    seeds: [9],
    edits: [{ file: claims, find: ' AND (SELECT id FROM alive) IS NOT NULL', replace: '' }],
  },
  {
    name: 'a process row is deleted while it has running jobs',
    seeds: [5],
    edits: [
      {
        file: processes,
        find: `WHERE id = :id AND (
    SELECT j.id FROM :schema.sync_jobs j
    WHERE j.status = 'running' AND j.process_id = :id LIMIT 1) IS NULL`,
        replace: 'WHERE id = :id',
      },
    ],
  },
  {
    name: 'a claim whose response was lost is not requeued',
    seeds: [4],
    edits: [
      { file: 'src/runtime/claim-rounds.ts', find: '      lease.markUncertain(claimId);\n', replace: '' },
    ],
  },
  {
    name: 'a stopping process keeps its lease and its jobs',
    seeds: [15],
    edits: [
      {
        file: lease,
        find: '        if (mine) await releaseProcess(reserved, await reserved.now(), mine.id);\n        const reaped = mine && (await reap(options, mine.id));',
        replace: '        const reaped = undefined as { count: number } | undefined;',
      },
    ],
  },
  {
    name: 'no follow-up job is created',
    seeds: [1],
    edits: [
      {
        file: judge,
        find: "    followUp: { type: 'incremental', cursor: nextCursor ?? null, ...pauseAfter(page, circumstances) },\n",
        replace: '',
      },
    ],
  },
  {
    name: 'the follow-up job starts at the old cursor',
    seeds: [1],
    edits: [
      {
        file: judge,
        find: "followUp: { type: 'incremental', cursor: nextCursor ?? null,",
        replace: "followUp: { type: 'incremental', cursor: JSON.stringify(effectiveCursor(job) ?? null),",
      },
    ],
  },
  {
    name: 'a sync whose cursor does not advance continues',
    seeds: [96],
    edits: [
      {
        file: judge,
        find: 'if (problem) return { ...verdict, warning: problem };',
        replace: '',
      },
    ],
  },
  {
    name: 'a failed job is retried without backoff',
    seeds: [10],
    edits: [
      {
        file: judge,
        find: "    default:\n      return { ...failed, outcome: 'requeued', retryAfter };",
        replace: "    default:\n      return { ...failed, outcome: 'requeued', retryAfter: null };",
      },
    ],
  },
  {
    name: "the provider's retry-after hint is ignored",
    seeds: [42],
    edits: [
      {
        file: 'src/schedule/backoff.ts',
        find: 'Math.max(exponential, clampHint(hintSeconds))',
        replace: 'exponential',
      },
    ],
  },
  {
    name: 'the scheduler ignores the status of connections',
    seeds: [7],
    edits: [
      {
        file: connections,
        find: "WHERE status = 'active' AND NOT waits_for_job AND due_at <= :horizon",
        replace: 'WHERE NOT waits_for_job AND due_at <= :horizon',
      },
    ],
  },
  {
    name: 'jobs of paused connections are not blocked, and a claim does not check the status',
    seeds: [20],
    edits: [
      {
        file: schemaSql,
        find: '  ELSE\n    PERFORM block_siblings(ARRAY[NEW.id]);',
        replace: '  ELSE\n    PERFORM 1;',
      },
      {
        file: 'src/pipeline/claim.ts',
        find: "rows.filter((row) => row.connection_status === 'active' && !row.is_foreign)",
        replace: 'rows.filter((row) => !row.is_foreign)',
      },
    ],
  },
  {
    name: 'schedulers do not lock due connections',
    seeds: [27],
    edits: [
      {
        file: connections,
        find: '  LIMIT :limit\n  FOR NO KEY UPDATE SKIP LOCKED`',
        replace: '  LIMIT :limit`',
      },
    ],
  },
  {
    name: 'next_run_at is the slot of the current run',
    seeds: [1],
    edits: [
      {
        file: 'src/schedule/placement.ts',
        find: 'nextRunAtMs: slotMs + baseSeconds * 1000',
        replace: 'nextRunAtMs: slotMs',
      },
    ],
  },
  {
    name: 'a placement does not write due_at',
    seeds: [1],
    edits: [{ file: connections, find: ', due_at = p.due_at\n', replace: '\n' }],
  },
  {
    name: 'due_at does not follow other writers',
    seeds: [10],
    edits: [
      {
        file: dueAtSql,
        find: "  NEW.due_at := coalesce(parse_instant(NEW.metadata #>> '{sync,next_run_at}'), '-infinity');\n",
        replace: '',
      },
    ],
  },
  {
    name: 'a schedule is ignored in favour of the interval',
    seeds: [7],
    edits: [
      { file: 'src/pipeline/plan.ts', find: 'if (timetable) {', replace: 'if (timetable && nowMs < 0) {' },
    ],
  },
  {
    name: 'an occurrence that has been placed is placed again',
    seeds: [109],
    edits: [
      {
        file: 'src/schedule/scheduled-placement.ts',
        find: 'Math.max(Math.min(lastEndedMs, nowMs), nextRunAtMs - 1)',
        replace: 'Math.min(lastEndedMs, nowMs)',
      },
    ],
  },
  {
    name: 'an occurrence during a run is caught up after it',
    seeds: [8],
    edits: [
      {
        file: 'src/schedule/scheduled-placement.ts',
        find: 'Math.max(Math.min(lastEndedMs, nowMs), nextRunAtMs - 1)',
        replace: 'nextRunAtMs - 1',
      },
    ],
  },
  {
    name: 'after an outage a schedule continues with the first missed occurrence',
    seeds: [26],
    edits: [
      {
        file: 'src/schedule/slot.ts',
        find: 'around(Math.max(sinceMs, nowMs))',
        replace: 'around(sinceMs)',
      },
    ],
  },
  {
    name: 'a repeated local time runs twice',
    seeds: [101],
    edits: [
      {
        file: 'src/schedule/time-zone.ts',
        find: 'if (before <= offsetAt(ms)) return wallMs;',
        replace: 'if (before <= offsetAt(ms) + dayMs) return wallMs;',
      },
    ],
  },
  {
    name: 'jitter exceeds its maximum',
    seeds: [1],
    edits: [
      {
        file: 'src/schedule/jitter.ts',
        find: 'Math.floor(random * (maxSeconds - minSeconds + 1))',
        replace: 'Math.floor(random * (maxSeconds - minSeconds + 10))',
      },
    ],
  },
  {
    name: 'waits_for_job is not reset when the job ends',
    seeds: [1],
    edits: [
      {
        file: settlements,
        find: 'waits_for_job = c.waits_for_job AND NOT w.ended,',
        replace: 'waits_for_job = c.waits_for_job,',
      },
    ],
  },
  {
    name: 'blocked jobs are not unblocked',
    seeds: [2],
    edits: [
      {
        file: jobTriggersSql,
        find: "    UPDATE sync_jobs SET blocked = false WHERE id = ANY (siblings) AND status = 'queued';",
        replace: '    PERFORM 1;',
      },
    ],
  },
  {
    name: 'a run ends without unblocking the jobs behind it',
    seeds: [2],
    edits: [
      {
        file: commit,
        find: 'await unblockSiblings(tx, await settleJobs(tx, now, ended.map(end)));',
        replace: 'await settleJobs(tx, now, ended.map(end));',
      },
    ],
  },
  {
    name: 'a claim uses the clock of its process',
    seeds: [8],
    edits: [
      ownClock,
      {
        file: 'src/pipeline/claim.ts',
        find: '        const { now } = tx;\n',
        replace: '        const now = new Date(ports.now());\n',
      },
    ],
  },
  {
    name: 'a tick uses the clock of its process',
    seeds: [8],
    edits: [
      ownClock,
      {
        file: 'src/pipeline/tick.ts',
        find: 'const nowMs = atMs ?? tx.now.getTime();',
        replace: 'const nowMs = atMs ?? ports.now();',
      },
    ],
  },
  {
    name: 'a commit and its backoff use the clock of their process',
    seeds: [8],
    edits: [
      ownClock,
      {
        file: commit,
        find: '      const { now } = tx;\n',
        replace: '      const now = new Date(ports.now());\n',
      },
    ],
  },
  {
    name: 'retention uses the clock of its process',
    seeds: [7],
    edits: [
      ownClock,
      {
        file: 'src/runtime/janitor.ts',
        find: 'cutoff: cutoff(tx.now, config.endedJobsDays)',
        replace: 'cutoff: cutoff(new Date(ports.now()), config.endedJobsDays)',
      },
    ],
  },
  {
    name: 'a suspect is requeued without a backoff',
    seeds: [6],
    edits: [
      {
        file: 'src/pipeline/lost-jobs.ts',
        find: '      retryAfter: until,\n',
        replace: '      retryAfter: null,\n',
      },
    ],
  },
  {
    name: 'the end of a run does not reset the death count',
    seeds: [6],
    edits: [{ file: settlements, find: 'losses = NULL, updated_at = :now', replace: 'updated_at = :now' }],
  },
  {
    name: 'a claim takes more than one suspect',
    seeds: [34],
    edits: [
      {
        file: 'src/pipeline/claim.ts',
        find: '.slice(takesSuspect ? 1 : 0)',
        replace: '.slice(rows.length)',
      },
    ],
  },
  {
    name: 'transactions use the isolation level of the role or database',
    seeds: [565],
    edits: [
      {
        file: 'src/store/session.ts',
        find: `BEGIN ISOLATION LEVEL READ COMMITTED\${access}, NOT DEFERRABLE`,
        replace: 'BEGIN READ WRITE',
      },
      {
        file: 'src/store/session.ts',
        find: "  default_transaction_isolation: 'read committed',\n",
        replace: '',
      },
    ],
  },
  {
    name: 'times use the date style of the role or database',
    seeds: [2],
    edits: [{ file: 'src/store/session.ts', find: "  DateStyle: 'ISO, YMD',\n", replace: '' }],
  },
  {
    name: 'an ended job is claimed again',
    seeds: [17],
    edits: [
      {
        file: claims,
        find: "    WHERE j.status = 'queued' AND NOT j.blocked AND j.retry_after IS NULL\n",
        replace: "    WHERE j.status <> 'running' AND NOT j.blocked AND j.retry_after IS NULL\n",
      },
    ],
  },
];
