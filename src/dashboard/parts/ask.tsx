import { signal } from '@preact/signals';
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { toProblem } from '../api.ts';
import type { Problem } from '../types.ts';
import { Dialog } from './dialog.tsx';
import { type Field, Fields, valuesOf } from './fields.tsx';
import { ProblemBox } from './states.tsx';

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
  hint: 'Optional. Stored in the audit log.',
};

/** A question that waited for a response does not replace an open one. */
export function ask(question: Question): void {
  openQuestion.value ??= question;
}

export function AskHost() {
  const question = openQuestion.value;
  if (!question) return null;
  return <Ask question={question} close={() => close(question)} />;
}

/** A late response does not close the next question. */
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
    const values = valuesOf(event.currentTarget);
    setBusy(true);
    setProblem(undefined);
    try {
      await question.run(values);
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
        <Fields fields={fields} problem={problem} />
        {problem && <ProblemBox problem={problem} />}
        <footer>
          <button type="button" class="button" onClick={close}>
            Close
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
