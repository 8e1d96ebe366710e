import { useMemo, useState } from 'preact/hooks';
import { plural } from '../format.ts';
import { CopyButton } from './copy-button.tsx';

export function JsonView({ value, label }: { value: unknown; label: string }) {
  return (
    <div class="json">
      <CopyButton text={JSON.stringify(value ?? null, null, 2)} label={`Copy ${label}`} />
      <Value value={value ?? null} depth={0} />
    </div>
  );
}

export function JsonLine({ value }: { value: unknown }) {
  // Live lists re-render often.
  const text = useMemo(() => JSON.stringify(value ?? null), [value]);
  return (
    <code class="json-line" title={text.slice(0, 2000)}>
      {text.length > 120 ? `${text.slice(0, 120)}…` : text}
    </code>
  );
}

const openDepth = 2;
const entriesPerPage = 100;

interface EntryProps {
  name?: string;
  depth: number;
}

function Value({ value, ...entry }: EntryProps & { value: unknown }) {
  if (typeof value === 'object' && value !== null && Object.keys(value).length > 0)
    return <Branch value={value} {...entry} />;
  return (
    <div>
      <Name name={entry.name} />
      <span class={typeof value === 'string' ? 'json-text' : 'json-word'}>{JSON.stringify(value)}</span>
    </div>
  );
}

function Name({ name }: { name: string | undefined }) {
  if (name === undefined) return null;
  return (
    <>
      <span class="json-key">{name}</span>:{' '}
    </>
  );
}

function Branch({ value, name, depth }: EntryProps & { value: object }) {
  const [shown, setShown] = useState(entriesPerPage);
  const entries = Object.entries(value);
  const isList = Array.isArray(value);
  return (
    <details open={depth < openDepth && entries.length <= entriesPerPage}>
      <summary>
        <Name name={name} />
        {isList ? '[' : '{'}
        <span class="json-count">
          {plural(entries.length, isList ? 'item' : 'key')} {isList ? ']' : '}'}
        </span>
      </summary>
      <ul>
        {entries.slice(0, shown).map(([key, entry]) => (
          <li key={key}>
            <Value name={key} value={entry} depth={depth + 1} />
          </li>
        ))}
      </ul>
      {entries.length > shown && (
        <button type="button" class="button small" onClick={() => setShown(shown + entriesPerPage)}>
          Show more
        </button>
      )}
    </details>
  );
}
