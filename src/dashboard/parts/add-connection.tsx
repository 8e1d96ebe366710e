import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, get, send, toProblem } from '../api.ts';
import { markDone } from '../first-steps.ts';
import { shortId } from '../format.ts';
import { useQuery } from '../query.ts';
import { navigate } from '../router.ts';
import { isOperator } from '../session.ts';
import type { Connection, Credential, Page, Problem, Provider, Tenant } from '../types.ts';
import { Dialog } from './dialog.tsx';
import { type Field, Fields, valuesOf } from './fields.tsx';
import { scheduleFields, scheduleOf } from './schedule-fields.ts';
import { ProblemBox, Skeleton } from './states.tsx';
import { notify } from './toast.tsx';

/** Of included connectors and the demo. */
const exampleConfigs: Record<string, unknown> = {
  github: { repositories: ['northwind/api'] },
  slack: { channels: ['C0123456789'] },
  'google-calendar': { calendars: ['team@northwind.example'] },
  rss: { url: 'https://blog.example/feed.xml' },
  postgres: {
    host: 'db.example.com',
    database: 'shop',
    table: 'public.orders',
    cursorColumn: 'updated_at',
    keyColumns: ['id'],
  },
  warehouse: { database: 'northwind/orders' },
};

interface Choices {
  tenants: Tenant[];
  providers: Provider[];
}

const newTenant = '';

export function AddConnection({ onClose }: { onClose: () => void }) {
  const choices = useQuery<Choices>('choices for a connection', async (signal) => ({
    tenants: (await get<Page<Tenant>>('v1/tenants', { limit: 100 }, signal)).items,
    providers: (await get<Page<Provider>>('v1/providers', { limit: 100 }, signal)).items,
  }));
  return (
    <Dialog title="Add connection" onClose={onClose}>
      {choices.problem && <ProblemBox problem={choices.problem} retry={choices.reload} />}
      {choices.data && choices.data.providers.length === 0 && (
        <p class="soft">
          No provider is registered. Add a connector to syncline.config.ts and restart the process.
        </p>
      )}
      {choices.data && choices.data.providers.length > 0 && (
        <ConnectionForm {...choices.data} onClose={onClose} />
      )}
      {!choices.data && !choices.problem && <Skeleton lines={5} />}
    </Dialog>
  );
}

function ConnectionForm({ tenants, providers, onClose }: Choices & { onClose: () => void }) {
  const [tenantId, setTenantId] = useState(tenants[0]?.id ?? newTenant);
  const [provider, setProvider] = useState(providers[0]?.slug ?? '');
  const [busy, setBusy] = useState(false);
  const form = useRef<HTMLFormElement>(null);
  // The fields load after the dialog opens.
  useEffect(() => form.current?.querySelector('select')?.focus(), []);
  const [problem, setProblem] = useState<Problem>();
  const credentials = useQuery(`credentials ${tenantId} ${provider}`, async (signal) =>
    tenantId === newTenant
      ? []
      : (await get<Page<Credential>>('v1/credentials', { tenant_id: tenantId, provider, limit: 100 }, signal))
          .items,
  );
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const values = valuesOf(event.currentTarget);
    setBusy(true);
    setProblem(undefined);
    try {
      const { id } = await create(values);
      markDone('add');
      notify('Connection added.');
      onClose();
      navigate(`connections/${id}`);
    } catch (error) {
      setProblem(toProblem(error));
      setBusy(false);
    }
  };
  const tenantOptions = tenants.map(({ id, name }) => ({ value: id, label: name ?? shortId(id) }));
  const fields: Field[] = [
    {
      name: 'tenant_id',
      label: 'Tenant',
      value: tenantId,
      options: isOperator() ? [...tenantOptions, { value: newTenant, label: 'New tenant…' }] : tenantOptions,
      onChange: setTenantId,
    },
    ...(tenantId === newTenant ? [{ name: 'tenant_name', label: 'Tenant name', required: true }] : []),
    {
      name: 'provider',
      label: 'Provider',
      value: provider,
      options: providers.map(({ slug, display_name }) => ({ value: slug, label: display_name ?? slug })),
      onChange: setProvider,
    },
    {
      name: 'credential_id',
      // Selects the first credential.
      key: `credential_id ${tenantId} ${provider} ${credentials.data?.length}`,
      label: 'Credential',
      hint: 'To add one, run: syncline credentials add',
      options: [
        ...(credentials.data ?? []).map(({ id, name }) => ({ value: id, label: name ?? shortId(id) })),
        { value: '', label: 'None' },
      ],
    },
    { name: 'external_id', label: 'Account', hint: 'Optional. Name or ID of the account at the provider.' },
    ...scheduleFields('At least 60. Leave empty for the default.'),
    {
      name: 'config',
      key: `config ${provider}`,
      label: 'Configuration',
      hint: 'A JSON object. The connector defines its keys.',
      value: JSON.stringify(exampleConfigs[provider] ?? {}),
    },
  ];
  return (
    <form ref={form} onSubmit={submit}>
      <Fields fields={fields} problem={problem} />
      {problem && <ProblemBox problem={problem} />}
      <footer>
        <button type="button" class="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" class="button primary" disabled={busy}>
          {busy ? 'Working…' : 'Add connection'}
        </button>
      </footer>
    </form>
  );
}

function create(values: Record<string, string>): Promise<Connection> {
  const { tenant_id, tenant_name, provider, credential_id, external_id } = values;
  const config = parsedConfig(values['config'] ?? '');
  const { interval_seconds, ...schedule } = { interval_seconds: null, ...scheduleOf(values) };
  return send<Connection>('POST', 'v1/connections', {
    ...(tenant_id ? { tenant_id } : { tenant_name }),
    provider,
    config,
    ...(credential_id && { credential_id }),
    ...(external_id && { external_id }),
    ...(interval_seconds !== null && { interval_seconds }),
    ...schedule,
  });
}

function parsedConfig(text: string): object {
  try {
    const value: unknown = JSON.parse(text || '{}');
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Reported below.
  }
  const message = 'must be a JSON object such as {"repositories":["northwind/api"]}';
  throw new ApiError({
    title: 'Invalid configuration',
    status: 0,
    detail: `Configuration ${message}.`,
    code: 'PAGE',
    errors: [{ field: 'config', message }],
  });
}
