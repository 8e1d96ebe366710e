import { AuditList } from '../parts/audit-list.tsx';
import { TenantFilter, TextFilter, WordsFilter } from '../parts/filters.tsx';
import { Page } from '../parts/page.tsx';
import { query } from '../router.ts';
import { isOperator } from '../session.ts';

const kinds = [
  'connection.created',
  'connection.paused',
  'connection.resumed',
  'connection.activated',
  'connection.interval_changed',
  'connection.rewound',
  'connection.deleted',
  'connection.triggered',
  'connection.needs_auth',
  'job.cancelled',
  'job.retried',
  'tenant.created',
  'provider.registered',
  'key.created',
  'key.revoked',
  'consumer.moved',
  'consumer.deleted',
];

export function AuditPage() {
  const filter = {
    connection_id: query.value.get('connection_id'),
    tenant_id: query.value.get('tenant_id'),
    kind: query.value.get('kind'),
  };
  return (
    <Page title="Audit">
      <search class="filters">
        <TextFilter name="connection_id" label="Connection" placeholder="Id of a connection  ( / )" search />
        {isOperator() && <TenantFilter />}
        <WordsFilter name="kind" label="Kind" values={kinds} />
      </search>
      <AuditList filter={filter} />
    </Page>
  );
}
