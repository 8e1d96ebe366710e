import { duration, number } from '../format.ts';
import type { Job } from '../types.ts';
import { Badge } from './badge.tsx';
import { JobLink } from './names.tsx';
import type { Column } from './table.tsx';
import { Ago } from './time.tsx';

export const jobColumns: Column<Job>[] = [
  { name: 'Job', heads: true, cell: ({ id }) => <JobLink id={id} /> },
  { name: 'Status', cell: (job) => <Badge state={job.status} title={job.error?.message} /> },
  { name: 'Type', cell: ({ type }) => type },
  { name: 'Scheduled', numeric: true, cell: ({ scheduled_at }) => <Ago at={scheduled_at} /> },
  { name: 'Duration', numeric: true, cell: ({ duration_ms }) => duration(duration_ms) },
  { name: 'Signals', numeric: true, cell: ({ signals }) => number(signals) },
  { name: 'Failures', numeric: true, cell: ({ attempts }) => number(attempts) },
  { name: 'Error', wide: true, cell: errorCell },
];

function errorCell(job: Job) {
  const text =
    job.error?.message ??
    (job.blocked ? 'blocked: the connection is not active or runs another job' : undefined);
  return text === undefined ? null : <span class="clip">{text}</span>;
}
