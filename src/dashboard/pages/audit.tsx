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
  'connection.schedule_repaired',
  'connection.rewound',
  'connection.deletion_started',
  'connection.deleted',
  'connection.triggered',
  'connection.needs_auth',
  'connection.authorization_requested',
  'job.cancelled',
  'job.retried',
  'job.poisoned',
  'tenant.created',
  'provider.registered',
  'key.created',
  'key.revoked',
  'key.refused',
  'session.opened',
  'session.closed',
  'session.refused',
  'consumer.moved',
  'consumer.deleted',
];

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
        <WordsFilter name="kind" label="Kind" values={kinds} />
      </search>
      <AuditList filter={filter} />
    </Page>
  );
}
