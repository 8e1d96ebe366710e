import type { Query } from '../api.ts';
import { useList } from '../list.ts';
import type { AuditEvent } from '../types.ts';
import { JsonLine } from './json-view.tsx';
import { ListView } from './list-view.tsx';
import { ConnectionLink, JobLink, KeyLink } from './names.tsx';
import type { Column } from './table.tsx';
import { Ago } from './time.tsx';

const columns: Column<AuditEvent>[] = [
  { name: 'Event', heads: true, cell: ({ kind }) => kind },
  { name: 'Time', numeric: true, cell: ({ at }) => <Ago at={at} /> },
  { name: 'Actor', cell: ({ actor }) => <span class="clip">{actor ?? '–'}</span> },
  { name: 'Key', cell: ({ key_id }) => <KeyLink id={key_id} /> },
  { name: 'Reason', wide: true, cell: ({ reason }) => reason ?? <span class="faint">–</span> },
  { name: 'Connection', cell: ({ connection_id }) => <ConnectionLink id={connection_id} /> },
  { name: 'Job', cell: ({ job_id }) => <JobLink id={job_id} /> },
  {
    name: 'Detail',
    wide: true,
    cell: ({ detail }) => (detail ? <JsonLine value={detail} /> : <span class="faint">–</span>),
  },
];

export function AuditList({ filter, short }: { filter: Query; short?: boolean }) {
  const list = useList<AuditEvent>('v1/audit', filter, ({ id }) => id, {
    refreshMs: 8000,
    pageSize: short ? 10 : 50,
  });
  return (
    <ListView
      list={list}
      noun="event"
      columns={short ? columns.filter(({ name }) => name !== 'Connection') : columns}
      keyOf={({ id }) => id}
      empty="No events yet."
    />
  );
}
