import { useState } from 'preact/hooks';
import { connectionHealths } from '../../contract/states.ts';
import { scheduleText, seconds } from '../format.ts';
import { useList } from '../list.ts';
import { AddConnection } from '../parts/add-connection.tsx';
import { Badge } from '../parts/badge.tsx';
import { BulkDialog } from '../parts/bulk.tsx';
import { ProviderFilter, TenantFilter, TextFilter, WordsFilter } from '../parts/filters.tsx';
import { Link } from '../parts/link.tsx';
import { ListView } from '../parts/list-view.tsx';
import { connectionName } from '../parts/names.tsx';
import { Page } from '../parts/page.tsx';
import { Sparkline } from '../parts/sparkline.tsx';
import type { Column } from '../parts/table.tsx';
import { Ago, Countdown } from '../parts/time.tsx';
import { query, setQuery } from '../router.ts';
import { isOperator } from '../session.ts';
import type { BulkAction, Connection } from '../types.ts';

const filterNames = ['search', 'tenant_id', 'provider', 'health'] as const;

const columns: Column<Connection>[] = [
  {
    name: 'Connection',
    heads: true,
    wide: true,
    cell: (connection) => (
      <Link to={`connections/${connection.id}`} title={connection.id}>
        {connectionName(connection)}
      </Link>
    ),
  },
  { name: 'Provider', cell: ({ provider, provider_name }) => provider_name ?? provider },
  {
    name: 'Health',
    cell: ({ health, failure }) => <Badge state={health} title={failure ?? undefined} />,
  },
  { name: 'Recent runs', cell: ({ recent }) => <Sparkline runs={recent} /> },
  { name: 'Last run', numeric: true, cell: ({ last_ended_at }) => <Ago at={last_ended_at} /> },
  {
    name: 'Interval',
    numeric: true,
    cell: ({ schedule, base_interval_seconds }) =>
      schedule ? <span title={scheduleText(schedule)}>schedule</span> : seconds(base_interval_seconds),
  },
  { name: 'Next run', numeric: true, cell: (connection) => <NextRun connection={connection} /> },
];

const tenantColumn: Column<Connection> = {
  name: 'Tenant',
  cell: ({ tenant_name, tenant_id }) => (
    <span class="clip" title={tenant_id}>
      {tenant_name ?? tenant_id}
    </span>
  ),
};

function NextRun({ connection }: { connection: Connection }) {
  if (connection.status !== 'active') return <span class="faint">–</span>;
  return <Countdown at={connection.next_start_at} />;
}

const bulkActions: { action: BulkAction; name: string }[] = [
  { action: 'pause', name: 'Pause' },
  { action: 'resume', name: 'Resume' },
  { action: 'trigger', name: 'Sync now' },
  { action: 'cancel', name: 'Cancel jobs' },
];

export function ConnectionsPage() {
  const [bulk, setBulk] = useState<BulkAction>();
  const filter = currentFilter();
  const list = useList<Connection>('v1/connections', { ...filter, include: 'recent' }, ({ id }) => id, {
    refreshMs: 5000,
  });
  const shown = isOperator() ? [...columns.slice(0, 1), tenantColumn, ...columns.slice(1)] : columns;
  const filtered = Object.keys(filter).length > 0;
  return (
    <Page
      title="Connections"
      actions={
        <button type="button" class="button primary" onClick={() => setQuery({ add: 'true' })}>
          Add connection
        </button>
      }
    >
      <search class="filters">
        <TextFilter name="search" label="Search" placeholder="ID or name prefix  ( / )" search />
        {isOperator() && <TenantFilter />}
        <ProviderFilter />
        <WordsFilter name="health" label="Health" values={connectionHealths} />
        {filtered && (
          <button type="button" class="button" onClick={clearFilters}>
            Clear
          </button>
        )}
      </search>
      <section class="bulk-bar" aria-label="Bulk actions">
        <span class="soft">{filtered ? 'All matching:' : 'All connections:'}</span>
        {bulkActions.map(({ action, name }) => (
          <button key={action} type="button" class="button small" onClick={() => setBulk(action)}>
            {name}
          </button>
        ))}
      </section>
      <ListView
        list={list}
        noun="connection"
        columns={shown}
        keyOf={({ id }) => id}
        empty={filtered ? 'No matching connections.' : 'No connections yet.'}
      />
      {query.value.has('add') && <AddConnection onClose={() => setQuery({ add: undefined })} />}
      {bulk && (
        <BulkDialog
          action={bulk}
          filter={filter}
          expected={list.hasMore ? undefined : list.items.length}
          onClose={() => setBulk(undefined)}
        />
      )}
    </Page>
  );
}

function currentFilter(): Record<string, string> {
  const entries = filterNames.map((name) => [name, query.value.get(name) ?? ''] as const);
  return Object.fromEntries(entries.filter(([, value]) => value !== ''));
}

function clearFilters(): void {
  setQuery(Object.fromEntries(filterNames.map((name) => [name, undefined])));
}
