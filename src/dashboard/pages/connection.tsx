import { get } from '../api.ts';
import { scheduleText, seconds, shortId, words } from '../format.ts';
import { AuditList } from '../parts/audit-list.tsx';
import { Badge } from '../parts/badge.tsx';
import { ConnectionActions } from '../parts/connection-actions.tsx';
import { Cursors } from '../parts/connection-cursors.tsx';
import { ConnectionRuns } from '../parts/connection-runs.tsx';
import { ConnectionSignals } from '../parts/connection-signals.tsx';
import { type Fact, Facts } from '../parts/facts.tsx';
import { JsonView } from '../parts/json-view.tsx';
import { connectionName } from '../parts/names.tsx';
import { Page, Panel } from '../parts/page.tsx';
import { LoadedView } from '../parts/states.tsx';
import { Ago, Countdown } from '../parts/time.tsx';
import { useQuery } from '../query.ts';
import { isOperator } from '../session.ts';
import type { Connection, Deletion, Explanation } from '../types.ts';

export function ConnectionPage({ id }: { id: string }) {
  const path = `v1/connections/${encodeURIComponent(id)}`;
  const connection = useQuery(path, (signal) => get<Connection>(path, {}, signal), 4000);
  const why = useQuery(`${path}/why`, (signal) => get<Explanation>(`${path}/why`, {}, signal), 4000);
  const loaded = connection.data;
  // Every panel would repeat the error.
  if (!loaded)
    return (
      <Page title={`Connection ${shortId(id)}`}>
        <LoadedView query={connection} lines={8}>
          {() => null}
        </LoadedView>
      </Page>
    );
  return (
    <Page
      title={connectionName(loaded)}
      heading={
        <>
          {connectionName(loaded)} <span class="soft">{loaded.provider_name ?? loaded.provider}</span>{' '}
          <Badge state={loaded.health} />
        </>
      }
      actions={<ConnectionActions connection={loaded} path={path} />}
    >
      <LoadedView query={why} lines={1} height={56}>
        {({ sentence }) => <p class="verdict">{sentence}</p>}
      </LoadedView>
      {loaded.deleting_since && <DeletionProgress path={path} />}
      <Panel title="Details">
        <Facts facts={factsOf(loaded)} />
        {loaded.invalid_metadata.length > 0 && <InvalidMetadata connection={loaded} />}
      </Panel>
      <ConnectionRuns id={id} path={path} />
      <div class="side-by-side">
        <Cursors connection={loaded} path={path} />
        <ConnectionSignals id={id} />
      </div>
      <Panel title="Activity" flush>
        <AuditList filter={{ connection_id: id }} short />
      </Panel>
      {Object.keys(loaded.config).length > 0 && (
        <Panel title="Configuration">
          <JsonView value={loaded.config} label="configuration" />
        </Panel>
      )}
    </Page>
  );
}

function DeletionProgress({ path }: { path: string }) {
  const deletion = useQuery(
    `${path}/deletion`,
    (signal) => get<Deletion>(`${path}/deletion`, {}, signal),
    2000,
  );
  if (!deletion.data) return null;
  const { deleted_signals: value, estimated_signals: max } = deletion.data;
  return <progress class="deletion" aria-label="Signals deleted" value={value} max={Math.max(1, max)} />;
}

function factsOf(connection: Connection): Fact[] {
  const { interval_seconds: configured, base_interval_seconds: effective } = connection;
  return [
    {
      name: 'Next run',
      value: connection.status === 'active' ? <Countdown at={connection.next_start_at} /> : '–',
    },
    { name: 'Last run ended', value: <Ago at={connection.last_ended_at} /> },
    connection.schedule
      ? { name: 'Schedule', value: scheduleText(connection.schedule) }
      : { name: 'Interval', value: `${seconds(effective)}${configured === null ? ' (default)' : ''}` },
    { name: 'Last jitter', value: seconds(connection.last_jitter_seconds) },
    { name: 'Status', value: words(connection.status) },
    ...(connection.failing_since
      ? [{ name: 'Failing since', value: <Ago at={connection.failing_since} /> }]
      : []),
    ...(connection.failure ? [{ name: 'Failure', value: words(connection.failure) }] : []),
    ...(isOperator() ? [{ name: 'Tenant', value: connection.tenant_name ?? connection.tenant_id }] : []),
    { name: 'First activated', value: <Ago at={connection.first_activated_at} /> },
    { name: 'Created', value: <Ago at={connection.created_at} /> },
    { name: 'ID', value: <code>{connection.id}</code> },
  ];
}

function InvalidMetadata({ connection }: { connection: Connection }) {
  return (
    <div class="warning">
      <strong>Invalid metadata fields are ignored:</strong>
      <ul>
        {connection.invalid_metadata.map(({ field, value, expected }) => (
          <li key={field}>
            <code>{field}</code>
            {value !== undefined && (
              <>
                {' '}
                is <code>{value}</code>
              </>
            )}
            {expected && `, but must be ${expected}`}
          </li>
        ))}
      </ul>
    </div>
  );
}
