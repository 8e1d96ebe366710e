import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { get } from '../api.ts';
import { shortId, words } from '../format.ts';
import { useQuery } from '../query.ts';
import { query, setQuery } from '../router.ts';
import type { Page, Provider, Tenant } from '../types.ts';

/** In the URL: lists can be shared. */

const debounceMs = 250;

interface TextProps {
  name: string;
  label: string;
  placeholder?: string;
  /** Focused by `/`. */
  search?: boolean;
}

export function TextFilter({ name, label, placeholder, search }: TextProps) {
  const id = useId();
  const value = query.value.get(name) ?? '';
  const [text, setText] = useState(value);
  const sent = useRef(value);
  useEffect(() => {
    // By a link or the back button.
    if (value !== sent.current) setText(value);
    sent.current = value;
  }, [value]);
  useEffect(() => {
    if (text === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = text.trim();
      setQuery({ [name]: text.trim() });
    }, debounceMs);
    return () => clearTimeout(timer);
  }, [text, name]);
  return (
    <div class={search ? 'filter grow' : 'filter'}>
      <label for={id}>{label}</label>
      <input
        id={id}
        type="search"
        value={text}
        placeholder={placeholder}
        data-search={search ? true : undefined}
        autocomplete="off"
        spellcheck={false}
        onInput={(event) => setText(event.currentTarget.value)}
      />
    </div>
  );
}

interface ChoiceProps {
  name: string;
  label: string;
  options: { value: string; label: string }[];
}

function ChoiceFilter({ name, label, options }: ChoiceProps) {
  const id = useId();
  const value = query.value.get(name) ?? '';
  const isOption = value === '' || options.some((option) => option.value === value);
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => setQuery({ [name]: event.currentTarget.value })}>
        <option value="">All</option>
        {!isOption && <option value={value}>{value}</option>}
        {options.map((option) => (
          <option key={option.value} value={option.value}>
            {option.label}
          </option>
        ))}
      </select>
    </div>
  );
}

export function WordsFilter({
  name,
  label,
  values,
}: {
  name: string;
  label: string;
  values: readonly string[];
}) {
  return (
    <ChoiceFilter
      name={name}
      label={label}
      options={values.map((value) => ({ value, label: words(value) }))}
    />
  );
}

export function ProviderFilter() {
  const { data } = useQuery('providers', (signal) =>
    get<Page<Provider>>('v1/providers', { limit: 100 }, signal),
  );
  const options = (data?.items ?? []).map(({ slug, display_name }) => ({
    value: slug,
    label: display_name ?? slug,
  }));
  return <ChoiceFilter name="provider" label="Provider" options={options} />;
}

/** Too many tenants for a select. */
export function TenantFilter() {
  const id = useId();
  const chosen = query.value.get('tenant_id') ?? '';
  const [text, setText] = useState('');
  const selected = useQuery(`tenant ${chosen}`, async (signal) =>
    chosen ? await get<Tenant>(`v1/tenants/${encodeURIComponent(chosen)}`, {}, signal) : null,
  );
  const typed = text.split(' · ')[0] ?? '';
  const matching = useQuery(`tenants ${typed}`, (signal) =>
    get<Page<Tenant>>('v1/tenants', { search: typed, limit: 20 }, signal),
  );
  const suggestions = matching.data?.items ?? [];
  useEffect(() => {
    setText(chosen ? tenantText(selected.data ?? { id: chosen, name: 'Tenant' }) : '');
  }, [chosen, selected.data]);
  const change = (value: string) => {
    setText(value);
    const tenant = suggestions.find((candidate) => tenantText(candidate) === value);
    if (tenant) setQuery({ tenant_id: tenant.id });
    else if (value === '') setQuery({ tenant_id: undefined });
  };
  return (
    <div class="filter">
      <label for={id}>Tenant</label>
      <input
        id={id}
        type="search"
        list={`${id}-list`}
        value={text}
        placeholder="All"
        autocomplete="off"
        onInput={(event) => change(event.currentTarget.value)}
      />
      <datalist id={`${id}-list`}>
        {suggestions.map((tenant) => (
          <option key={tenant.id} value={tenantText(tenant)} />
        ))}
      </datalist>
    </div>
  );
}

/** Names are not unique. */
function tenantText({ id, name }: Pick<Tenant, 'id' | 'name'>): string {
  return `${name ?? 'unnamed'} · ${shortId(id)}`;
}
