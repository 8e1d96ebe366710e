import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { get } from '../api.ts';
import { shortId, words } from '../format.ts';
import { useQuery } from '../query.ts';
import { query, setQuery } from '../router.ts';
import type { Page, Provider, Tenant } from '../types.ts';

/** Every filter lives in the query of the address, so that a filtered list can be sent to somebody. */

const typingPauseMs = 250;

interface TextProps {
  name: string;
  label: string;
  placeholder?: string;
  /** What `/` goes to. */
  search?: boolean;
}

export function TextFilter({ name, label, placeholder, search }: TextProps) {
  const id = useId();
  const value = query.value.get(name) ?? '';
  const [text, setText] = useState(value);
  const sent = useRef(value);
  useEffect(() => {
    // The address changed by other means than typing here: a link, or the way back.
    if (value !== sent.current) setText(value);
    sent.current = value;
  }, [value]);
  useEffect(() => {
    if (text === sent.current) return;
    const timer = setTimeout(() => {
      sent.current = text.trim();
      setQuery({ [name]: text.trim() });
    }, typingPauseMs);
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
  const known = value === '' || options.some((option) => option.value === value);
  return (
    <div class="filter">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={(event) => setQuery({ [name]: event.currentTarget.value })}>
        <option value="">All</option>
        {!known && <option value={value}>{value}</option>}
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

/** There may be a great many tenants: it suggests those whose names match what is typed. */
export function TenantFilter() {
  const id = useId();
  const chosen = query.value.get('tenant_id') ?? '';
  const [text, setText] = useState('');
  const own = useQuery(`tenant ${chosen}`, async (signal) =>
    chosen ? await get<Tenant>(`v1/tenants/${encodeURIComponent(chosen)}`, {}, signal) : null,
  );
  const typed = text.split(' · ')[0] ?? '';
  const found = useQuery(`tenants ${typed}`, (signal) =>
    get<Page<Tenant>>('v1/tenants', { search: typed, limit: 20 }, signal),
  );
  const suggestions = found.data?.items ?? [];
  useEffect(() => {
    setText(chosen ? tenantText(own.data ?? { id: chosen, name: 'Tenant' }) : '');
  }, [chosen, own.data]);
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

/** Names may be shared; with the end of the id they are told apart. */
function tenantText({ id, name }: Pick<Tenant, 'id' | 'name'>): string {
  return `${name ?? 'unnamed'} · ${shortId(id)}`;
}
