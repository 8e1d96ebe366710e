import { useEffect, useId, useState } from 'preact/hooks';
import { toProblem } from '../api.ts';
import { Mark, ThemeButton } from '../parts/header.tsx';
import { logIn } from '../session.ts';
import type { Problem } from '../types.ts';

export function LoginPage() {
  const id = useId();
  const [key, setKey] = useState('');
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<Problem>();
  useEffect(() => {
    document.title = 'Log in · Syncline';
  }, []);
  const submit = async (event: SubmitEvent) => {
    event.preventDefault();
    setBusy(true);
    setProblem(undefined);
    try {
      await logIn(key.trim());
    } catch (error) {
      setProblem(toProblem(error));
      setBusy(false);
    }
  };
  return (
    <main class="login">
      <form onSubmit={submit} class="panel">
        <h1>
          <Mark /> Syncline
        </h1>
        <div class="field">
          <label for={id}>API key</label>
          <input
            id={id}
            type="password"
            value={key}
            required
            autocomplete="current-password"
            placeholder="syn_…"
            aria-invalid={problem ? true : undefined}
            aria-describedby={`${id}-message`}
            onInput={(event) => setKey(event.currentTarget.value)}
          />
          <span id={`${id}-message`} class={problem ? 'field-error' : 'soft'} role="status">
            {problem
              ? problemText(problem)
              : 'An operator key gives access to all tenants, a tenant key to one.'}
          </span>
        </div>
        <button type="submit" class="button primary" disabled={busy || key.trim() === ''}>
          {busy ? 'Logging in…' : 'Log in'}
        </button>
      </form>
      <ThemeButton />
    </main>
  );
}

/** The hint of a 401 is for API clients. */
function problemText({ status, detail, hint }: Problem): string {
  return hint && status !== 401 ? `${detail} ${hint}` : detail;
}
