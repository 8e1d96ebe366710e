import { useId, useState } from 'preact/hooks';
import type { Problem } from '../types.ts';

export interface Field {
  name: string;
  /** A new key resets the field. */
  key?: string;
  label: string;
  hint?: string;
  value?: string;
  required?: boolean;
  inputMode?: 'numeric' | 'text';
  options?: { value: string; label: string }[];
  onChange?: (value: string) => void;
  /** 'on' or empty. */
  checkbox?: boolean;
  /** While the select of this name has one of the values. Hidden fields keep their text. */
  shownFor?: { name: string; values: string[] };
}

export function valuesOf(form: HTMLFormElement): Record<string, string> {
  return Object.fromEntries([...new FormData(form)].map(([name, value]) => [name, String(value).trim()]));
}

export function Fields({ fields, problem }: { fields: Field[]; problem: Problem | undefined }) {
  const [selected, setSelected] = useState<Record<string, string>>({});
  const names = fields.map(({ name }) => name);
  const isShown = ({ shownFor }: Field) => {
    if (!shownFor) return true;
    const select = fields.find(({ name }) => name === shownFor.name);
    return shownFor.values.includes(selected[shownFor.name] ?? select?.value ?? '');
  };
  // `schedule.days_of_week.0` is an error of days_of_week.
  const errorOf = (name: string) =>
    problem?.errors?.find(({ field }) => field.split('.').find((part) => names.includes(part)) === name);
  return (
    <>
      {fields.map((field, index) => (
        <FieldInput
          key={field.key ?? field.name}
          field={field}
          first={index === 0}
          hidden={!isShown(field)}
          errorText={errorOf(field.name)?.message}
          onSelect={(value) => {
            setSelected((before) => ({ ...before, [field.name]: value }));
            field.onChange?.(value);
          }}
        />
      ))}
    </>
  );
}

interface InputProps {
  field: Field;
  first: boolean;
  hidden: boolean;
  errorText: string | undefined;
  onSelect: (value: string) => void;
}

function FieldInput({ field, first, hidden, errorText, onSelect }: InputProps) {
  const id = useId();
  const shared = {
    id,
    name: field.name,
    required: field.required,
    'aria-describedby': `${id}-hint`,
    'aria-invalid': errorText ? true : undefined,
    'data-autofocus': first ? true : undefined,
  };
  if (field.checkbox)
    return (
      <div class="field">
        <label class="check">
          <input type="checkbox" name={field.name} aria-describedby={`${id}-hint`} />
          {field.label}
        </label>
        <span id={`${id}-hint`} class={errorText ? 'field-error' : 'soft'}>
          {errorText ?? field.hint}
        </span>
      </div>
    );
  return (
    <div class="field" hidden={hidden}>
      <label for={id}>{field.label}</label>
      {field.options ? (
        <select {...shared} onChange={(event) => onSelect(event.currentTarget.value)}>
          {field.options.map(({ value, label }) => (
            <option key={value} value={value} selected={value === field.value}>
              {label}
            </option>
          ))}
        </select>
      ) : (
        <input {...shared} defaultValue={field.value ?? ''} inputMode={field.inputMode} autocomplete="off" />
      )}
      <span id={`${id}-hint`} class={errorText ? 'field-error' : 'soft'}>
        {errorText ?? field.hint}
      </span>
    </div>
  );
}
