import { useMemo, useState } from 'preact/hooks';
import { get } from '../api.ts';
import { useQuery } from '../query.ts';
import { withQuery } from '../router.ts';
import type { Job, JobDetail, Page, Schedule } from '../types.ts';
import { Choices } from './choices.tsx';
import { jobColumns } from './job-columns.tsx';
import { Link } from './link.tsx';
import { Panel } from './page.tsx';
import { Empty, LoadedView } from './states.tsx';
import { Table } from './table.tsx';
import { Timeline } from './timeline.tsx';

const spans = [
  { value: 0, name: 'Latest' },
  { value: 3_600_000, name: '1 h' },
  { value: 21_600_000, name: '6 h' },
  { value: 86_400_000, name: '24 h' },
];

const rowsShown = 10;
/** Attempts are fetched job by job, so only for the newest of those that failed at least once. */
const detailed = 4;

/** Its runs, past and to come, as a picture and as a table. */
export function ConnectionRuns({ id, path }: { id: string; path: string }) {
  const [span, setSpan] = useState(0);
  const jobs = useQuery(
    `jobs of ${id}`,
    (signal) => get<Page<Job>>('v1/jobs', { connection_id: id, limit: 100 }, signal),
    4000,
  );
  const schedule = useQuery(
    `${path}/schedule`,
    (signal) => get<Schedule>(`${path}/schedule`, { runs: 5 }, signal),
    8000,
  );
  const tried = useMemo(
    () => (jobs.data?.items ?? []).filter(wasTriedBefore).slice(0, detailed),
    [jobs.data],
  );
  const details = useQuery(`attempts of ${tried.map(({ id, status }) => id + status).join()}`, (signal) =>
    Promise.all(tried.map((job) => get<JobDetail>(`v1/jobs/${job.id}`, {}, signal))),
  );
  return (
    <Panel
      title="Runs"
      flush
      actions={<Choices label="How far back" options={spans} value={span} choose={setSpan} />}
    >
      <LoadedView of={jobs} lines={4}>
        {({ items }) => (
          <>
            <div class="inset">
              <Timeline
                jobs={items}
                details={details.data ?? []}
                schedule={schedule.data}
                backMs={span || undefined}
              />
            </div>
            {items.length === 0 && <Empty>It has not run yet.</Empty>}
            {items.length > 0 && (
              <Table
                caption="Latest runs"
                columns={jobColumns}
                rows={items.slice(0, rowsShown)}
                keyOf={(job) => job.id}
              />
            )}
            {items.length > rowsShown && (
              <div class="list-foot">
                <Link to={withQuery('jobs', { connection_id: id })}>All its jobs</Link>
              </div>
            )}
          </>
        )}
      </LoadedView>
    </Panel>
  );
}

function wasTriedBefore({ attempts, status }: Job): boolean {
  return attempts > 0 || status === 'failed';
}
