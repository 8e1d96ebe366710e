import { signal } from '@preact/signals';
import { get, send } from '../api.ts';
import { shortId } from '../format.ts';
import { useList } from '../list.ts';
import { ask } from '../parts/ask.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { ListView } from '../parts/list-view.tsx';
import { KeyLink } from '../parts/names.tsx';
import { Page } from '../parts/page.tsx';
import type { Column } from '../parts/table.tsx';
import { Ago } from '../parts/time.tsx';
import { notify } from '../parts/toast.tsx';
import { useQuery } from '../query.ts';
import { isOperator } from '../session.ts';
import type { ApiKey, Page as ApiPage, Tenant } from '../types.ts';

/** Shown once, not persisted. */
const createdKey = signal<ApiKey | undefined>(undefined);

export function KeysPage() {
  const list = useList<ApiKey>('v1/keys', {}, ({ id }) => id, { refreshMs: 20_000 });
  const tenants = useQuery('tenants for keys', async (abort) =>
    isOperator() ? (await get<ApiPage<Tenant>>('v1/tenants', { limit: 100 }, abort)).items : [],
  );
  const columns: Column<ApiKey>[] = [
    { name: 'Name', heads: true, wide: true, cell: ({ name }) => name },
    { name: 'Prefix', cell: ({ prefix }) => <code>{prefix}…</code> },
    { name: 'Scope', cell: (key) => scopeOf(key, tenants.data ?? []) },
    { name: 'Created', numeric: true, cell: ({ created_at }) => <Ago at={created_at} /> },
    { name: 'Created by', cell: ({ created_by }) => <span class="clip">{created_by ?? '–'}</span> },
    { name: 'Parent key', cell: ({ parent_id }) => <KeyLink id={parent_id} /> },
    { name: 'Last used', numeric: true, cell: ({ last_used_at }) => <Ago at={last_used_at} /> },
    { name: 'State', cell: (key) => <RevokeCell apiKey={key} /> },
  ];
  return (
    <Page
      title="Keys"
      actions={
        <button type="button" class="button primary" onClick={() => askToCreate(tenants.data ?? [])}>
          Create key
        </button>
      }
    >
      <ListView list={list} noun="key" columns={columns} keyOf={({ id }) => id} empty="No keys yet." />
      {createdKey.value?.key && <CreatedKey name={createdKey.value.name} value={createdKey.value.key} />}
    </Page>
  );
}

function scopeOf({ scope, tenant_id }: ApiKey, tenants: Tenant[]): string {
  if (scope === 'operator') return 'operator';
  return `tenant ${tenants.find(({ id }) => id === tenant_id)?.name ?? shortId(tenant_id)}`;
}

function askToCreate(tenants: Tenant[]): void {
  const scope = {
    name: 'tenant_id',
    label: 'Scope',
    options: [
      { value: '', label: 'All tenants (operator)' },
      ...tenants.map(({ id, name }) => ({
        value: id,
        label: `Tenant ${name ?? 'unnamed'} · ${shortId(id)}`,
      })),
    ],
  };
  ask({
    title: 'Create key',
    fields: [
      { name: 'name', label: 'Name', hint: 'The user or service that uses the key.', required: true },
      ...(isOperator() ? [scope] : []),
    ],
    confirm: 'Create',
    run: async ({ name, tenant_id }) => {
      createdKey.value = await send<ApiKey>('POST', 'v1/keys', { name, ...(tenant_id && { tenant_id }) });
    },
  });
}

function CreatedKey({ name, value }: { name: string; value: string }) {
  const close = () => {
    createdKey.value = undefined;
  };
  return (
    <Dialog title={`Key “${name}”`} onClose={close}>
      <p class="soft">Copy the key now. It is not stored and cannot be shown again.</p>
      <div class="made-key">
        <code>{value}</code>
        <CopyButton text={value} label="Copy key" />
      </div>
      <footer>
        <button type="button" class="button primary" onClick={close}>
          Done
        </button>
      </footer>
    </Dialog>
  );
}

async function askToRevoke({ id, name }: ApiKey): Promise<void> {
  // Without the count, revoke the key alone.
  const descendants = await get<{ descendants: number }>(`v1/keys/${id}`).then(
    (key) => key.descendants,
    () => 0,
  );
  const others = descendants === 1 ? '1 key' : `${descendants} keys`;
  ask({
    title: `Revoke “${name}”?`,
    text: 'The key and its sessions stop working. This cannot be undone.',
    fields:
      descendants > 0
        ? [
            {
              name: 'descendants',
              label: `Also revoke ${others} created with it`,
              hint: 'Includes their descendants.',
              checkbox: true,
            },
          ]
        : [],
    confirm: 'Revoke',
    danger: true,
    run: async (values) => {
      await send('DELETE', `v1/keys/${id}${values['descendants'] ? '?descendants=true' : ''}`);
      notify('Revoked.');
    },
  });
}

function RevokeCell({ apiKey }: { apiKey: ApiKey }) {
  if (apiKey.revoked_at)
    return (
      <span class="soft">
        revoked <Ago at={apiKey.revoked_at} />
      </span>
    );
  return (
    <button
      type="button"
      class="button small"
      onClick={() => void askToRevoke(apiKey)}
      aria-label={`Revoke ${apiKey.name}`}
    >
      Revoke
    </button>
  );
}
