import type { ComponentChildren } from 'preact';
import { get } from '../api.ts';
import { dismiss, isDemo, progress, type Step } from '../first-steps.ts';
import { useQuery } from '../query.ts';
import { isOperator } from '../session.ts';
import type { Connection, Page } from '../types.ts';
import { Icon } from './icon.tsx';
import { Link } from './link.tsx';
import { Panel } from './page.tsx';

export function FirstSteps({ isEmpty }: { isEmpty: boolean }) {
  if (progress.value.isDismissed || !(isDemo || isEmpty) || !isOperator()) return null;
  return (
    <Panel
      title={isDemo ? 'Three things to try' : 'Get started'}
      actions={
        <button type="button" class="button small" onClick={dismiss}>
          Dismiss
        </button>
      }
    >
      <ol class="steps">
        {isDemo && (
          <StepItem step="break" to="system" link="Break a provider">
            All requests to the chosen provider fail. Its connections retry with backoff and appear below.
            After you heal the provider, the connections catch up without lost or duplicate signals.
          </StepItem>
        )}
        {isDemo && <RewindItem />}
        <StepItem step="add" to="connections?add=true" link="Add a connection">
          Choose a tenant, a provider and an interval. The next scheduler tick queues the first run of the
          connection.
        </StepItem>
      </ol>
    </Panel>
  );
}

function RewindItem() {
  const connections = useQuery('first connection', (signal) =>
    get<Page<Connection>>('v1/connections', { limit: 1 }, signal),
  );
  const id = connections.data?.items[0]?.id;
  return (
    <StepItem step="rewind" to={id ? `connections/${id}` : 'connections'} link="Rewind a cursor">
      Choose an earlier cursor, or the beginning. The next run reads all data after that cursor again; dedupe
      keys prevent duplicate signals.
    </StepItem>
  );
}

interface StepItemProps {
  step: Step;
  to: string;
  link: string;
  children: ComponentChildren;
}

function StepItem({ step, to, link, children }: StepItemProps) {
  const isDone = progress.value.done.includes(step);
  return (
    <li class={isDone ? 'step step-done' : 'step'}>
      <span class="step-mark" role="img" aria-label={isDone ? 'Done' : 'Not done'}>
        {isDone && <Icon name="ok" />}
      </span>
      <div>
        <Link to={to}>{link}</Link>
        <p class="soft">{children}</p>
      </div>
    </li>
  );
}
