import { jobStatuses, jobTypes } from '../../contract/states.ts';
import { useList } from '../list.ts';
import { ProviderFilter, TextFilter, WordsFilter } from '../parts/filters.tsx';
import { jobColumns } from '../parts/job-columns.tsx';
import { ListView } from '../parts/list-view.tsx';
import { ConnectionLink } from '../parts/names.tsx';
import { Page } from '../parts/page.tsx';
import type { Column } from '../parts/table.tsx';
import { query } from '../router.ts';
import type { Job } from '../types.ts';

const columns: Column<Job>[] = [
  ...jobColumns.slice(0, 2),
  { name: 'Provider', cell: ({ provider }) => provider },
  {
    name: 'Connection',
    cell: ({ connection_id, connection_name }) => (
      <ConnectionLink id={connection_id} name={connection_name} />
    ),
  },
  ...jobColumns.slice(2),
];

export function JobsPage() {
  const filter = {
    status: query.value.get('status'),
    provider: query.value.get('provider'),
    type: query.value.get('type'),
    connection_id: query.value.get('connection_id'),
  };
  const list = useList<Job>('v1/jobs', filter, ({ id }) => id, { refreshMs: 5000 });
  return (
    <Page title="Jobs">
      <search class="filters">
        <TextFilter name="connection_id" label="Connection" placeholder="Connection ID  ( / )" search />
        <ProviderFilter />
        <WordsFilter name="status" label="Status" values={jobStatuses} />
        <WordsFilter name="type" label="Type" values={jobTypes} />
      </search>
      <ListView
        list={list}
        noun="job"
        columns={columns}
        keyOf={({ id }) => id}
        empty="No matching jobs. Ended jobs are deleted after the retention period."
      />
    </Page>
  );
}
