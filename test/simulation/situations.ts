import type { Session, StatementEnd } from './wire.ts';

/** Places that a set of simulations must have come through, or it has proven nothing. */
export const situations = [
  'two claims at once',
  'a claim met a connection that was busy or not active',
  'two schedulers at once',
  'a scheduler met a pending job',
  'the fence refused a run that had lost its claim',
  'a lost acknowledgement of a commit was recognised afterwards',
  'a claim in doubt was put back',
  'jobs of an expired process were put back',
  'a process was reaped while its commit was under way',
  'a process lost its lease and went on under a new one',
  'a process died between a claim and its first page',
  'a process died in the middle of a commit',
  'a process died in the middle of a claim',
  'a process died in the middle of a tick',
  'a process slept past its lease with a page in its hands',
  'a clock went back between a tick and a claim',
  'a clock went ahead while a run was under way',
  'a clock was off by more than a month',
  'a process logged that its clock is off',
  'sessions were cut with a transaction open',
  'a statement waited for a lock',
  'a lock was waited for in vain',
  'the server ended a transaction that stood still',
  'a commit lost a race and was run again',
  'a batch of placements lost a race and was run again',
  'a trigger met a running job',
  'a connection was paused while its job ran',
  'a running job was cancelled, and its run was told',
  'a run under way was sent back by a rewind',
  'a walk that would never end was ended',
  'items that came again were absorbed',
  'a provider grew while it was being walked',
  'a full sync and an incremental one of one connection waited together',
  'credentials were refused',
  'a run took too long',
  'a process that was told to stop put its jobs back',
  'a notification woke an executor',
  'a process was killed by its connector twice in a row',
  'a job failed because its processes died',
  'a suspect had to wait for another',
  'sessions began with another isolation level',
  'sessions began with another date style',
] as const;
export type Situation = (typeof situations)[number];

export interface Watcher {
  note(situation: Situation): void;
  /** Looks at a statement that has just been answered. */
  see(end: StatementEnd): void;
  /** Looks at what an engine logged. */
  hear(message: string): void;
  seen(): ReadonlySet<Situation>;
}

interface Circumstances {
  sessions: () => Session[];
  made: (owner: string, id: string) => boolean;
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

const sentences: readonly [RegExp, Situation][] = [
  [
    /this machine's clock is \d+ s (ahead of|behind) the database's/,
    'a process logged that its clock is off',
  ],
  [/this process lost its lease/, 'a process lost its lease and went on under a new one'],
  [/cancelled while it was running/, 'a running job was cancelled, and its run was told'],
  [/the walk ends here/, 'a walk that would never end was ended'],
  [/needs new credentials/, 'credentials were refused'],
  [/took longer than \d+ s and was aborted/, 'a run took too long'],
  [/died \d times in a row/, 'a process was killed by its connector twice in a row'],
  [/died 5 times in a row.*The job has failed/, 'a job failed because its processes died'],
  [/executor stopped: .*[1-9]\d* jobs put back/, 'a process that was told to stop put its jobs back'],
];

export function watchSituations({ sessions, made, isAsleep, clockWentBack }: Circumstances): Watcher {
  const seen = new Set<Situation>();
  const note = (situation: Situation) => void seen.add(situation);
  const othersIn = (mine: Session, kind: string) =>
    sessions().filter(({ owner, transaction }) => owner !== mine.owner && transaction.includes(kind));

  function see({ session, kind, before, rows, error }: StatementEnd): void {
    if (error !== undefined) return;
    const isSome = rows.length > 0;
    if (kind === 'find ready' && isSome) {
      if (othersIn(session, 'find ready').length > 0) note('two claims at once');
      if (clockWentBack(session.owner)) note('a clock went back between a tick and a claim');
      if ((rows as ReadyRow[]).some((row) => row.job_type === 'full' && row.has_siblings))
        note('a full sync and an incremental one of one connection waited together');
    }
    if (kind === 'store signals' && !isSome) note('items that came again were absorbed');
    if (kind === 'lock due' && othersIn(session, 'lock due').length > 0) note('two schedulers at once');
    if (kind === 'block stuck') note('a claim met a connection that was busy or not active');
    if (kind === 'set waiting') note('a scheduler met a pending job');
    if (kind === 'defer suspects') note('a suspect had to wait for another');
    if (kind === 'ask for rerun') note('a trigger met a running job');
    if (kind === 'lock runs') seeRuns(session, rows as RunRow[]);
    if (kind === 'find lost' && isSome)
      note(
        before.includes('lock expired')
          ? 'jobs of an expired process were put back'
          : 'a claim in doubt was put back',
      );
    if (
      kind === 'lock expired' &&
      isSome &&
      othersIn(session, 'lock runs').some(({ owner }) => isAsleep(owner))
    )
      note('a process was reaped while its commit was under way');
  }

  function seeRuns({ owner }: Session, rows: RunRow[]): void {
    for (const { claim_id, status } of rows)
      if (claim_id === null || !made(owner, claim_id))
        note('the fence refused a run that had lost its claim');
      else if (status !== 'running') note('a lost acknowledgement of a commit was recognised afterwards');
  }

  return {
    note,
    see,
    hear: (message) => {
      for (const [sentence, situation] of sentences) if (sentence.test(message)) note(situation);
    },
    seen: () => seen,
  };
}
