import { get, send } from '../api.ts';
import { now } from '../clock.ts';
import { clockTime, duration, number, plural, shortId } from '../format.ts';
import { ask, reasonField } from '../parts/ask.tsx';
import { Badge } from '../parts/badge.tsx';
import { Facts } from '../parts/facts.tsx';
import { JsonLine } from '../parts/json-view.tsx';
import { ConnectionLink } from '../parts/names.tsx';
import { Page, Panel } from '../parts/page.tsx';
import { SignalRows } from '../parts/signal-rows.tsx';
import { Empty, LoadedView } from '../parts/states.tsx';
import { Ago, Clock } from '../parts/time.tsx';
import { notify } from '../parts/toast.tsx';
import { useQuery } from '../query.ts';
import { navigate } from '../router.ts';
import type { Page as ApiPage, Job, JobDetail, LogLine, Run, RunError, Signal } from '../types.ts';

export function JobPage({ id }: { id: string }) {
  const path = `v1/jobs/${encodeURIComponent(id)}`;
  const job = useQuery(path, (signal) => get<JobDetail>(path, {}, signal), 4000);
  const act = (action: 'cancel' | 'retry') =>
    ask({
      title: action === 'cancel' ? 'Cancel this job?' : 'Retry this job?',
      text:
        action === 'cancel'
          ? 'A run in progress is aborted and its results are discarded. Signals already stored are kept.'
          : 'The job runs as soon as possible. A job that has ended is queued as a new job.',
      fields: [reasonField],
      confirm: action === 'cancel' ? 'Cancel job' : 'Retry',
      danger: action === 'cancel',
      run: async ({ reason }) => {
        const changed = await send<Job>('POST', `${path}/${action}`, reason ? { reason } : {});
        notify(action === 'cancel' ? 'Cancelled.' : 'Queued again.');
        // A finished job is retried as another.
        if (changed.id !== id) navigate(`jobs/${changed.id}`);
      },
    });
  const status = job.data?.status;
  const isBackingOff = status === 'queued' && job.data?.retry_after !== null;
  const mayRetry = status === 'failed' || status === 'cancelled' || isBackingOff;
  return (
    <Page
      title={`Job ${shortId(id)}`}
      actions={
        <>
          {(status === 'queued' || status === 'running') && (
            <button type="button" class="button" onClick={() => act('cancel')}>
              Cancel
            </button>
          )}
          {mayRetry && (
            <button type="button" class="button primary" onClick={() => act('retry')}>
              {isBackingOff ? 'Retry now' : 'Retry'}
            </button>
          )}
        </>
      }
    >
      <LoadedView query={job} lines={6}>
        {(data) => <JobView job={data} />}
      </LoadedView>
    </Page>
  );
}

function JobView({ job }: { job: JobDetail }) {
  return (
    <>
      <p class="verdict">
        <Badge state={job.status} /> {job.verdict}
      </p>
      <Panel title="Details">
        <Facts
          facts={[
            {
              name: 'Connection',
              value: <ConnectionLink id={job.connection_id} name={job.connection_name} />,
            },
            { name: 'Provider', value: job.provider },
            { name: 'Type', value: job.type },
            { name: 'Scheduled', value: <Ago at={job.scheduled_at} /> },
            { name: 'Started', value: <Ago at={job.started_at} /> },
            { name: 'Finished', value: <Ago at={job.finished_at} /> },
            { name: 'Duration', value: duration(job.duration_ms) },
            { name: 'Priority', value: number(job.priority) },
            { name: 'Signals', value: number(job.signals) },
            { name: 'Start cursor', value: <JsonLine value={job.cursor} /> },
            { name: 'Stored cursor', value: <JsonLine value={job.next_cursor} /> },
            ...(job.retry_after ? [{ name: 'Retry after', value: <Ago at={job.retry_after} /> }] : []),
          ]}
        />
      </Panel>
      <Panel title="Runs" note={plural(job.runs.length, 'run')}>
        {job.runs.length === 0 && (
          <>
            <Empty>No runs yet, or they were deleted after the retention period.</Empty>
            {job.error && <ErrorView error={job.error} />}
          </>
        )}
        <ol class="runs">
          {job.runs.map((run) => (
            <RunView key={run.number} run={run} />
          ))}
        </ol>
      </Panel>
      {job.signals > 0 && <JobSignals job={job} />}
    </>
  );
}

function JobSignals({ job }: { job: Job }) {
  const stored = useQuery(`signals of ${job.id} ${job.signals}`, (signal) =>
    get<ApiPage<Signal>>('v1/signals', { job_id: job.id, limit: 20, payload: true }, signal),
  );
  return (
    <Panel title="Stored signals" flush>
      <LoadedView query={stored} lines={4}>
        {({ items, next_cursor }) => (
          <>
            {items.length > 0 ? (
              <SignalRows signals={items} hideConnection />
            ) : (
              <Empty>The signals were deleted after the retention period.</Empty>
            )}
            {next_cursor && (
              <p class="list-foot soft">Showing the newest {plural(items.length, 'signal')}.</p>
            )}
          </>
        )}
      </LoadedView>
    </Panel>
  );
}

function RunView({ run }: { run: Run }) {
  const { number: ordinal, outcome, started_at, duration_ms, error, retry_after, log } = run;
  return (
    <li>
      <h3>
        Run {ordinal} <Badge state={outcome} />
        <span class="soft num">
          <Clock at={started_at} />
          {duration_ms !== null && ` · ${duration(duration_ms)}`}
          {retry_after && ` · retry after ${clockTime(retry_after, now.peek())}`}
        </span>
      </h3>
      {error && <ErrorView error={error} />}
      {log.length > 0 ? <Log lines={log} /> : <p class="faint">No log output.</p>}
    </li>
  );
}

function ErrorView({ error }: { error: RunError }) {
  return (
    <div class="run-error">
      <p>
        <strong>{error.name}</strong> <span class="soft">{error.kind}</span>
      </p>
      <pre>{error.message}</pre>
      {error.hint && <p class="soft">{error.hint}</p>}
    </div>
  );
}

function Log({ lines }: { lines: LogLine[] }) {
  return (
    <div class="log" role="log" aria-label="Log of this run">
      {lines.map((line, index) => (
        <div key={`${line.at} ${index}`} class={`log-line log-${line.level}`}>
          <Clock at={line.at} />
          <b>{line.level}</b>
          <span>
            {line.message}
            {Object.keys(line.fields).length > 0 && <JsonLine value={line.fields} />}
          </span>
        </div>
      ))}
    </div>
  );
}
