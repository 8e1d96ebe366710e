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
/** Attempts need one request per job. */
const maxDetailed = 4;

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
  const failedJobs = useMemo(
    () => (jobs.data?.items ?? []).filter(hasFailures).slice(0, maxDetailed),
    [jobs.data],
  );
  const details = useQuery(
    `attempts of ${failedJobs.map(({ id, status }) => id + status).join()}`,
    (signal) => Promise.all(failedJobs.map((job) => get<JobDetail>(`v1/jobs/${job.id}`, {}, signal))),
  );
  return (
    <Panel
      title="Runs"
      flush
      actions={<Choices label="Time range" options={spans} value={span} choose={setSpan} />}
    >
      <LoadedView query={jobs} lines={4}>
        {({ items }) => (
          <>
            <div class="inset">
              <Timeline
                jobs={items}
                details={details.data ?? []}
                schedule={schedule.data}
                backMs={span || undefined}
                maxRows={rowsShown}
              />
            </div>
            {items.length === 0 && <Empty>No jobs yet.</Empty>}
            {items.length > 0 && (
              <Table
                caption="Latest jobs"
                columns={jobColumns}
                rows={items.slice(0, rowsShown)}
                keyOf={(job) => job.id}
              />
            )}
            {items.length > rowsShown && (
              <div class="list-foot">
                <Link to={withQuery('jobs', { connection_id: id })}>All jobs</Link>
              </div>
            )}
          </>
        )}
      </LoadedView>
    </Panel>
  );
}

function hasFailures({ attempts, status }: Job): boolean {
  return attempts > 0 || status === 'failed';
}
