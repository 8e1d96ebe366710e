import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';
import { toProblem } from '../api.ts';
import type { Problem } from '../types.ts';
import { Dialog } from './dialog.tsx';
import { ProblemBox } from './states.tsx';

export interface Field {
  name: string;
  label: string;
  hint?: string;
  value?: string;
  required?: boolean;
  inputMode?: 'numeric' | 'text';
  options?: { value: string; label: string }[];
  onChange?: (value: string) => void;
  /** Its value is 'on' or empty. */
  checkbox?: boolean;
}

interface Question {
  title: string;
  text?: ComponentChildren;
  fields?: Field[];
  confirm: string;
  danger?: boolean;
  /** Then the dialog closes, or shows the error. */
  run: (values: Record<string, string>) => Promise<void>;
}

const openQuestion = signal<Question | undefined>(undefined);

export const reasonField: Field = {
  name: 'reason',
  label: 'Reason',
  hint: 'Optional; stored in the audit log.',
};

/** Only one can be open: a question that waited for a response does not replace it. */
export function ask(question: Question): void {
  openQuestion.value ??= question;
}

export function AskHost() {
  const question = openQuestion.value;
  if (!question) return null;
  return <Ask question={question} close={() => close(question)} />;
}

/** The response of a question that was closed earlier does not close the next one. */
function close(question: Question): void {
  if (openQuestion.value === question) openQuestion.value = undefined;
}

function Ask({ question, close }: { question: Question; close: () => void }) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  const fields = question.fields ?? [];
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    if (!(event.currentTarget instanceof HTMLFormElement)) return;
    const form = new FormData(event.currentTarget);
    setBusy(true);
    setProblem(undefined);
    try {
      await question.run(Object.fromEntries(fields.map(({ name }) => [name, textOf(form.get(name))])));
      close();
    } catch (error) {
      setProblem(toProblem(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <Dialog title={question.title} onClose={close}>
      <form onSubmit={submit}>
        {question.text && <p class="soft">{question.text}</p>}
        {fields.map((field, index) => (
          <FieldInput key={field.name} field={field} first={index === 0} problem={problem} />
        ))}
        {problem && <ProblemBox problem={problem} />}
        <footer>
          <button type="button" class="button" onClick={close}>
            Back
          </button>
          <button
            type="submit"
            class={`button ${question.danger ? 'danger' : 'primary'}`}
            disabled={busy}
            data-autofocus={fields.length === 0 ? true : undefined}
          >
            {busy ? 'Working…' : question.confirm}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}

function textOf(value: FormDataEntryValue | null): string {
  return typeof value === 'string' ? value.trim() : '';
}

export function FieldInput({
  field,
  first,
  problem,
}: {
  field: Field;
  first: boolean;
  problem: Problem | undefined;
}) {
  const id = useId();
  const errorText = problem?.errors?.find((error) => error.field.split('.').at(-1) === field.name)?.message;
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
    <div class="field">
      <label for={id}>{field.label}</label>
      {field.options ? (
        <select {...shared} onChange={(event) => field.onChange?.(event.currentTarget.value)}>
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
