import { get } from '../api.ts';
import { isDemo } from '../first-steps.ts';
import { bytes, count, number, share, shortDuration, words } from '../format.ts';
import { Badge } from '../parts/badge.tsx';
import { DemoProviders } from '../parts/demo-providers.tsx';
import { Facts } from '../parts/facts.tsx';
import { JsonLine } from '../parts/json-view.tsx';
import { Page, Panel } from '../parts/page.tsx';
import { Empty, LoadedView } from '../parts/states.tsx';
import { type Column, Table } from '../parts/table.tsx';
import { Ago } from '../parts/time.tsx';
import { useQuery } from '../query.ts';
import type { ProcessInfo, SystemInfo, TableInfo } from '../types.ts';

const processColumns: Column<ProcessInfo>[] = [
  {
    name: 'Process',
    heads: true,
    cell: ({ host, pid, id }) => (
      <span title={id}>
        {host ?? 'unknown host'} <span class="soft num">{pid ?? ''}</span>
      </span>
    ),
  },
  { name: 'State', cell: ({ alive }) => <Badge state={alive ? 'ok' : 'lost'} /> },
  { name: 'Roles', cell: ({ roles }) => roles.join(', ') || '–' },
  { name: 'Providers', wide: true, cell: ({ providers }) => providers.join(', ') || '–' },
  { name: 'Running', numeric: true, cell: ({ running }) => number(running) },
  { name: 'Slots', numeric: true, cell: ({ concurrency }) => number(concurrency) },
  { name: 'Started', numeric: true, cell: ({ started_at }) => <Ago at={started_at} /> },
  {
    name: 'Clock skew',
    numeric: true,
    cell: ({ clock_skew_seconds: skew }) =>
      Math.abs(skew) > maxSkewSeconds ? <strong>{signedDuration(skew)}</strong> : signedDuration(skew),
  },
  { name: 'Lease expires', numeric: true, cell: ({ expires_at }) => <Ago at={expires_at} /> },
];

/** As in the server's warning. */
const maxSkewSeconds = 30;

const signedDuration = (skew: number) =>
  skew === 0 ? '0 s' : `${skew > 0 ? '+' : '−'}${shortDuration(Math.abs(skew) * 1000)}`;

const tableColumns: Column<TableInfo>[] = [
  { name: 'Table', heads: true, cell: ({ name }) => <code>{name}</code> },
  { name: 'Size', numeric: true, cell: (table) => bytes(table.bytes) },
  { name: 'Rows (estimate)', numeric: true, cell: ({ rows_estimate }) => number(rows_estimate) },
  { name: 'Dead rows', numeric: true, cell: (table) => <DeadRows table={table} /> },
  { name: 'Last vacuum', numeric: true, cell: ({ last_vacuum_at }) => <Ago at={last_vacuum_at} /> },
];

function DeadRows({ table }: { table: TableInfo }) {
  const { rows_estimate: live, dead_rows_estimate: dead } = table;
  // Zero until the table is analysed.
  const part = live > 0 ? dead / (live + dead) : 0;
  return (
    <span class="meter-cell" title={`${number(dead)} dead rows`}>
      <span class="meter" aria-hidden="true">
        <i style={{ width: `${100 * part}%` }} />
      </span>
      {live > 0 ? share(dead, live + dead) : '–'}
    </span>
  );
}

const configColumns: Column<SystemInfo['config'][number]>[] = [
  { name: 'Setting', heads: true, cell: ({ path }) => <code>{path}</code> },
  {
    name: 'Value',
    cell: ({ value }) => (typeof value === 'string' ? <code>{value}</code> : <JsonLine value={value} />),
  },
  { name: 'Description', wide: true, cell: ({ about }) => <span class="soft">{about}</span> },
];

export function SystemPage() {
  const system = useQuery('system', (signal) => get<SystemInfo>('v1/system', {}, signal), 6000);
  return (
    <Page title="System">
      {isDemo && <DemoProviders />}
      <LoadedView query={system} lines={10}>
        {(data) => <SystemView system={data} />}
      </LoadedView>
    </Page>
  );
}

function SystemView({ system }: { system: SystemInfo }) {
  const { queue, processes, tables, retention, config } = system;
  return (
    <>
      <Panel title="Overview">
        <Facts
          facts={[
            { name: 'Version', value: system.version },
            { name: 'Node', value: system.node },
            { name: 'Schema', value: `${system.schema}, version ${system.schema_version}` },
            { name: 'Database size', value: bytes(system.database_bytes) },
            ...(queue
              ? [
                  { name: 'Jobs due', value: count(queue.due) },
                  { name: 'Jobs running', value: count(queue.running) },
                  { name: 'Jobs backing off', value: count(queue.backing_off) },
                  { name: 'Jobs blocked', value: count(queue.blocked) },
                ]
              : []),
          ]}
        />
      </Panel>
      <Panel title="Processes" flush>
        {processes.length > 0 ? (
          <Table
            caption="Processes and their leases"
            columns={processColumns}
            rows={processes}
            keyOf={({ id }) => id}
          />
        ) : (
          <Empty>No executor or scheduler is running, so no connection syncs.</Empty>
        )}
      </Panel>
      <div class="side-by-side wide-left">
        <Panel title="Tables" flush>
          <Table
            caption="Tables and their sizes"
            columns={tableColumns}
            rows={tables}
            keyOf={({ name }) => name}
          />
        </Panel>
        <Panel title="Retention">
          <Facts
            facts={Object.entries(retention).map(([name, days]) => ({
              name: words(name.replace(/_days$/, '')),
              value: days ? `${number(days)} days` : 'kept forever',
            }))}
          />
        </Panel>
      </div>
      <Panel title="Effective configuration" flush>
        <Table
          caption="Effective configuration"
          columns={configColumns}
          rows={config}
          keyOf={({ path }) => path}
        />
      </Panel>
    </>
  );
}
