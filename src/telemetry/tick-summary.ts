import type { TickResult } from '../pipeline/events.ts';

const minReportMs = 30_000;

interface TickReport {
  /** Info at most every 30 s, with the sums since the last one. */
  level: 'info' | 'debug';
  fields: Record<string, number>;
  sentence: string;
}

interface TickSummary {
  runFinished(signals: number): void;
  tickFinished(tick: TickResult): TickReport;
}

interface Sums {
  scheduled: number;
  skippedPending: number;
  invalidMetadata: number;
  runs: number;
  signals: number;
}

const nothing: Sums = { scheduled: 0, skippedPending: 0, invalidMetadata: 0, runs: 0, signals: 0 };

export function createTickSummary(monotonicMs: () => number): TickSummary {
  let sums = nothing;
  let reportedMs: number | undefined;

  return {
    runFinished(signals) {
      sums = { ...sums, runs: sums.runs + 1, signals: sums.signals + signals };
    },

    tickFinished(tick) {
      sums = {
        ...sums,
        scheduled: sums.scheduled + tick.scheduled,
        skippedPending: sums.skippedPending + tick.skippedPending,
        invalidMetadata: sums.invalidMetadata + tick.invalidMetadata,
      };
      const nowMs = monotonicMs();
      const sinceMs = reportedMs === undefined ? undefined : nowMs - reportedMs;
      if (sinceMs !== undefined && sinceMs < minReportMs)
        return { level: 'debug', fields: fieldsOf(tick, tick), sentence: tickSentence(tick, tick) };
      const report = sums;
      sums = nothing;
      reportedMs = nowMs;
      return {
        level: 'info',
        fields: { ...fieldsOf(report, tick), runs: report.runs, signals: report.signals },
        sentence: tickSentence(report, tick) + runsSentence(report, sinceMs),
      };
    },
  };
}

type Counts = Pick<TickResult, 'scheduled' | 'skippedPending' | 'invalidMetadata'>;

function fieldsOf({ scheduled, skippedPending, invalidMetadata }: Counts, tick: TickResult) {
  return {
    scheduled,
    skipped_pending: skippedPending,
    invalid_metadata: invalidMetadata,
    backlog: tick.backlog,
    duration_ms: Math.round(tick.durationMs),
  };
}

function tickSentence({ scheduled, skippedPending }: Counts, { durationMs }: TickResult): string {
  const placed = scheduled === 0 ? 'nothing due' : `placed ${counted(scheduled, 'job')}`;
  const skipped = skippedPending === 0 ? '' : `, skipped ${skippedPending} with a pending job`;
  return `tick: ${placed}${skipped} (${Math.round(durationMs)} ms)`;
}

function runsSentence({ runs, signals }: Sums, sinceMs: number | undefined): string {
  if (runs === 0 || sinceMs === undefined) return '';
  const seconds = Math.round(sinceMs / 1000);
  return `; ${counted(runs, 'run')} in the last ${seconds} s, ${counted(signals, 'new signal')}`;
}

export const counted = (n: number, noun: string) => `${n} ${noun}${n === 1 ? '' : 's'}`;
