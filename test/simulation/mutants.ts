/** A mistake that somebody might make. The simulation must notice it. */
export interface Mutant {
  name: string;
  edits: readonly Edit[];
  /** Seeds that have shown it, tried first. */
  seeds: readonly number[];
}

export interface Edit {
  file: string;
  /** Must be there exactly once. */
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
const executorSql = 'src/store/migrations/0002_executor.sql';

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

/** Where another guard holds, both are taken away together: the name says which. */
export const mutants: readonly Mutant[] = [
  { name: 'a result is stored without a look at whose claim it is', seeds: [17], edits: [noFence] },
  {
    name: 'a process that lost its lease goes on with its runs, and nobody asks for their claims',
    seeds: [12],
    edits: [
      noFence,
      {
        file: lease,
        find: '    current = undefined;\n    onLost();',
        replace: '    current = undefined;',
      },
    ],
  },
  {
    name: 'a claim does not look whether its connection is busy, and no index forbids it',
    seeds: [29],
    edits: [
      {
        file: claims,
        find: `
       AND (SELECT r.id FROM \${tx.schema}.sync_jobs r
            WHERE r.connection_id = j.connection_id AND r.status = 'running' LIMIT 1) IS NULL
     RETURNING j.id`,
        replace: '\n     RETURNING j.id',
      },
      {
        file: executorSql,
        find: 'CREATE UNIQUE INDEX idx_sync_jobs_running',
        replace: 'CREATE INDEX idx_sync_jobs_running',
      },
      // Otherwise the triggers and the claim itself keep jobs of a busy connection out of sight.
      {
        file: executorSql,
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
    name: 'the cursor is stored before the run is known to hold its claim',
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
    name: 'signals are stored outside of the transaction',
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
    name: 'keys are not looked at, and no index forbids a second one',
    seeds: [2],
    edits: [
      {
        file: 'src/store/signals.ts',
        find: 'ON CONFLICT (connection_id, dedupe_key) WHERE dedupe_key IS NOT NULL DO NOTHING',
        replace: '',
      },
      {
        file: executorSql,
        find: 'CREATE UNIQUE INDEX idx_signals_dedupe',
        replace: 'CREATE INDEX idx_signals_dedupe',
      },
    ],
  },
  {
    name: 'a result that was stored already is stored again',
    seeds: [64],
    edits: [
      {
        file: commit,
        find: 'const holding = claimed.filter(({ job }) => isRunning(rows.get(job.id)));',
        replace: 'const holding = claimed;',
      },
    ],
  },
  {
    name: 'an attempt is charged to a job whose process died',
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
    name: 'jobs are taken from processes whose lease is not over',
    seeds: [2],
    edits: [
      {
        file: processes,
        find: `WHERE expires_at <= $1 AND id <> $3`,
        replace: 'WHERE id <> $3',
      },
      {
        file: processes,
        find: `WHERE id = $2 AND expires_at <= $1 FOR UPDATE SKIP LOCKED`,
        replace: 'WHERE id = $2 AND $1::timestamptz IS NOT NULL FOR UPDATE SKIP LOCKED',
      },
    ],
  },
  {
    name: 'a lease that has run out is renewed',
    seeds: [2],
    edits: [
      {
        file: processes,
        find: `WHERE id = $3 AND expires_at > $1\n       RETURNING id`,
        replace: 'WHERE id = $3\n       RETURNING id',
      },
    ],
  },
  {
    name: 'jobs are claimed for a process that has no lease',
    seeds: [70],
    edits: [{ file: claims, find: ' AND (SELECT id FROM alive) IS NOT NULL', replace: '' }],
  },
  {
    name: 'a process is forgotten while jobs run under it',
    seeds: [15],
    edits: [
      {
        file: processes,
        find: `WHERE id = $1
       AND (SELECT j.id FROM \${tx.schema}.sync_jobs j WHERE j.status = 'running' AND j.process_id = $1 LIMIT 1) IS NULL`,
        replace: 'WHERE id = $1',
      },
    ],
  },
  {
    name: 'a claim whose answer was lost is forgotten',
    seeds: [14],
    edits: [{ file: 'src/runtime/executor.ts', find: '      lease.doubt(claimId);\n', replace: '' }],
  },
  {
    name: 'a process that stops keeps its lease, and its jobs',
    seeds: [12],
    edits: [
      {
        file: lease,
        find: '        if (mine) await releaseProcess(reserved, await reserved.now(), mine.id);\n        const reaped = mine && (await reap(options, mine.id));',
        replace: '        const reaped = undefined as { count: number } | undefined;',
      },
    ],
  },
  {
    name: 'the next page is forgotten',
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
    name: 'the next page begins where this one began',
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
    name: 'a walk that comes back to the same place goes on',
    seeds: [24],
    edits: [
      {
        file: judge,
        find: 'if (problem) return { ...verdict, warning: problem };',
        replace: '',
      },
    ],
  },
  {
    name: 'a job that failed is tried again at once',
    seeds: [11],
    edits: [
      {
        file: judge,
        find: "    default:\n      return { ...failed, outcome: 'requeued', retryAfter };",
        replace: "    default:\n      return { ...failed, outcome: 'requeued', retryAfter: null };",
      },
    ],
  },
  {
    name: 'a provider that asks to wait is not listened to',
    seeds: [63],
    edits: [
      {
        file: 'src/schedule/backoff.ts',
        find: 'Math.max(exponential, believable(hintSeconds))',
        replace: 'exponential',
      },
    ],
  },
  {
    name: 'connections are placed whatever their status',
    seeds: [4],
    edits: [
      {
        file: connections,
        find: "WHERE status = 'active' AND NOT waits_for_job AND due_at <= $1\n       AND ($2::timestamptz",
        replace: 'WHERE NOT waits_for_job AND due_at <= $1\n       AND ($2::timestamptz',
      },
    ],
  },
  {
    name: 'jobs of paused connections are not blocked, and a claim does not look',
    seeds: [7],
    edits: [
      {
        file: executorSql,
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
    name: 'schedulers do not lock what they place',
    seeds: [7],
    edits: [
      {
        file: connections,
        find: '     LIMIT $4\n     FOR NO KEY UPDATE SKIP LOCKED`',
        replace: '     LIMIT $4`',
      },
    ],
  },
  {
    name: 'the next run is due at the slot of this one',
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
    name: 'jitter goes beyond its bounds',
    seeds: [1],
    edits: [
      {
        file: 'src/schedule/jitter.ts',
        find: 'Math.floor(random * (most - least + 1))',
        replace: 'Math.floor(random * (most - least + 10))',
      },
    ],
  },
  {
    name: 'a connection waits for its job for ever',
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
    name: 'who was blocked stays blocked',
    seeds: [6],
    edits: [
      {
        file: executorSql,
        find: '    UPDATE sync_jobs SET blocked = false WHERE id = ANY (siblings);',
        replace: '    PERFORM 1;',
      },
    ],
  },
  {
    name: 'a run ends without a look at who waits behind it',
    seeds: [29],
    edits: [
      {
        file: commit,
        find: "verdict.outcome !== 'requeued' && !rows.get(job.id)?.blocks_others;",
        replace: "verdict.outcome !== 'requeued';",
      },
    ],
  },
  {
    name: 'a claim decides by the clock of its process',
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
    name: 'a tick decides by the clock of its process',
    seeds: [8],
    edits: [
      ownClock,
      {
        file: 'src/pipeline/enqueue.ts',
        find: 'const nowMs = atMs ?? tx.now.getTime();',
        replace: 'const nowMs = atMs ?? ports.now();',
      },
    ],
  },
  {
    name: 'a commit and its backoff go by the clock of their process',
    seeds: [7],
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
    name: 'the end of a run leaves the deaths of its processes counted',
    seeds: [6],
    edits: [{ file: settlements, find: 'losses = NULL, updated_at = $1', replace: 'updated_at = $1' }],
  },
  {
    name: 'a claim takes every suspect that it finds',
    seeds: [29],
    edits: [
      {
        file: 'src/pipeline/claim.ts',
        find: '.slice(takesSuspect ? 1 : 0)',
        replace: '.slice(rows.length)',
      },
    ],
  },
  {
    name: 'a transaction has the isolation level that the role or the database sets',
    seeds: [2],
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
    name: 'times are written as the role or the database sets it',
    seeds: [2],
    edits: [{ file: 'src/store/session.ts', find: "  DateStyle: 'ISO, YMD',\n", replace: '' }],
  },
];
