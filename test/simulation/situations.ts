import type { Session, StatementEnd } from './wire.ts';

/** Situations that a set of simulations must cover. */
export const situations = [
  'two concurrent claims',
  'a claim found a job whose connection was busy or not active',
  'two concurrent schedulers',
  'a scheduler found a pending job',
  'the fence rejected a run that had lost its claim',
  'a commit whose response was lost was recognised',
  'jobs of an uncertain claim were requeued',
  'jobs of an expired process were requeued',
  'a process was reaped during its commit',
  'a process lost its lease and continued under a new one',
  'a process crashed between a claim and its first page',
  'a process crashed during a commit',
  'a process crashed during a claim',
  'a process crashed during a tick',
  'a process paused past its lease during a provider call',
  'a clock jumped back between a tick and a claim',
  'a clock jumped ahead during a run',
  'a clock was wrong by more than a month',
  'a process logged that its clock is wrong',
  'sessions were terminated with an open transaction',
  'a statement waited for a lock',
  'a lock wait timed out',
  'the server terminated an idle transaction',
  'a commit was retried after a serialization failure or deadlock',
  'a scheduler batch was retried after a serialization failure or deadlock',
  'a trigger found a running job',
  'a connection was paused during a run',
  'a running job was cancelled and its run aborted',
  'a rewind restarted a run in progress',
  'a sync without progress was ended',
  'duplicate items were absorbed',
  'a provider gained items during a sync',
  'a full and an incremental job of one connection were queued together',
  'credentials were rejected',
  'a run timed out',
  'a stopping process requeued its jobs',
  'a notification woke an executor',
  'a connector killed its process twice in a row',
  'a job failed because its processes died',
  'a suspect job waited for another',
  'a schedule caught up after an outage',
  'a schedule crossed a daylight saving change',
  'sessions started with another isolation level',
  'sessions started with another date style',
  'another service moved next_run_at',
] as const;
export type Situation = (typeof situations)[number];

export interface SituationRecorder {
  note(situation: Situation): void;
  onStatement(end: StatementEnd): void;
  onLog(message: string): void;
  seen(): ReadonlySet<Situation>;
}

interface Circumstances {
  sessions: () => Session[];
  ownsId: (owner: string, id: string) => boolean;
  isAsleep: (owner: string) => boolean;
  clockWentBack: (owner: string) => boolean;
}

interface ReadyRow {
  job_type: string;
  has_siblings: boolean;
}

interface RunRow {
  claim_id: string | null;
  status: string;
}

const logPatterns: readonly [RegExp, Situation][] = [
  [
    /this machine's clock is \d+ s (ahead of|behind) the database's/,
    'a process logged that its clock is wrong',
  ],
  [/this process lost its lease/, 'a process lost its lease and continued under a new one'],
  [/cancelled while running/, 'a running job was cancelled and its run aborted'],
  [/the walk ends here/, 'a sync without progress was ended'],
  [/needs new credentials/, 'credentials were rejected'],
  [/took longer than \d+ s and was aborted/, 'a run timed out'],
  [/died \d times in a row/, 'a connector killed its process twice in a row'],
  [/died 5 times in a row.*The job has failed/, 'a job failed because its processes died'],
  [/executor stopped: .*[1-9]\d* jobs? requeued/, 'a stopping process requeued its jobs'],
];

export function recordSituations({
  sessions,
  ownsId,
  isAsleep,
  clockWentBack,
}: Circumstances): SituationRecorder {
  const seen = new Set<Situation>();
  const note = (situation: Situation) => void seen.add(situation);
  const othersIn = (own: Session, kind: string) =>
    sessions().filter(({ owner, transaction }) => owner !== own.owner && transaction.includes(kind));

  function onStatement({ session, kind, before, rows, error }: StatementEnd): void {
    if (error !== undefined) return;
    const hasRows = rows.length > 0;
    if (kind === 'find ready' && hasRows) {
      if (othersIn(session, 'find ready').length > 0) note('two concurrent claims');
      if (clockWentBack(session.owner)) note('a clock jumped back between a tick and a claim');
      if ((rows as ReadyRow[]).some((row) => row.job_type === 'full' && row.has_siblings))
        note('a full and an incremental job of one connection were queued together');
    }
    if (kind === 'store signals' && !hasRows) note('duplicate items were absorbed');
    if (kind === 'lock due' && othersIn(session, 'lock due').length > 0) note('two concurrent schedulers');
    if (kind === 'block stuck') note('a claim found a job whose connection was busy or not active');
    if (kind === 'set waiting') note('a scheduler found a pending job');
    if (kind === 'defer suspects') note('a suspect job waited for another');
    if (kind === 'request rerun') note('a trigger found a running job');
    if (kind === 'lock runs') noteLostClaims(session, rows as RunRow[]);
    if (kind === 'find lost' && hasRows)
      note(
        before.includes('lock expired')
          ? 'jobs of an expired process were requeued'
          : 'jobs of an uncertain claim were requeued',
      );
    if (
      kind === 'lock expired' &&
      hasRows &&
      othersIn(session, 'lock runs').some(({ owner }) => isAsleep(owner))
    )
      note('a process was reaped during its commit');
  }

  function noteLostClaims({ owner }: Session, rows: RunRow[]): void {
    for (const { claim_id, status } of rows)
      if (claim_id === null || !ownsId(owner, claim_id))
        note('the fence rejected a run that had lost its claim');
      else if (status !== 'running') note('a commit whose response was lost was recognised');
  }

  return {
    note,
    onStatement,
    onLog: (message) => {
      for (const [pattern, situation] of logPatterns) if (pattern.test(message)) note(situation);
    },
    seen: () => seen,
  };
}
