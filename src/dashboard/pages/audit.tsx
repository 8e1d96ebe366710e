import { eventKinds } from '../../contract/states.ts';
import { AuditList } from '../parts/audit-list.tsx';
import { TenantFilter, TextFilter, WordsFilter } from '../parts/filters.tsx';
import { Page } from '../parts/page.tsx';
import { query } from '../router.ts';
import { isOperator } from '../session.ts';

export function AuditPage() {
  const filter = {
    connection_id: query.value.get('connection_id'),
    tenant_id: query.value.get('tenant_id'),
    key_id: query.value.get('key_id'),
    kind: query.value.get('kind'),
  };
  return (
    <Page title="Audit">
      <search class="filters">
        <TextFilter name="connection_id" label="Connection" placeholder="Connection ID  ( / )" search />
        <TextFilter name="key_id" label="Key" placeholder="Key ID" />
        {isOperator() && <TenantFilter />}
        <WordsFilter name="kind" label="Kind" values={eventKinds} />
      </search>
      <AuditList filter={filter} />
    </Page>
  );
}
