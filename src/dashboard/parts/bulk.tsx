import { useId, useRef, useState } from 'preact/hooks';
import { send, toProblem } from '../api.ts';
import { number, plural } from '../format.ts';
import type { BulkAction, BulkStep, Problem } from '../types.ts';
import { reasonField } from './ask.tsx';
import { Dialog } from './dialog.tsx';
import { ProblemBox } from './states.tsx';

interface Props {
  action: BulkAction;
  filter: Record<string, string>;
  expected: number | undefined;
  onClose: () => void;
}

interface Progress {
  state: 'confirm' | 'working' | 'stopped' | 'done';
  matched: number;
  changed: number;
  refused: number;
  /** The first 20. */
  failed: BulkStep['failed'];
  problem?: Problem;
}

const stepSize = 50;
const initialProgress: Progress = { state: 'confirm', matched: 0, changed: 0, refused: 0, failed: [] };

const verbs: Record<BulkAction, string> = {
  pause: 'Pause',
  resume: 'Resume',
  trigger: 'Sync now',
  cancel: 'Cancel jobs',
};

export function BulkDialog({ action, filter, expected, onClose }: Props) {
  const reasonId = useId();
  const reason = useRef<HTMLInputElement>(null);
  const stopping = useRef<AbortController | undefined>(undefined);
  const [progress, setProgress] = useState(initialProgress);

  const start = async (event: SubmitEvent) => {
    event.preventDefault();
    const controller = new AbortController();
    stopping.current = controller;
    const reasonText = reason.current?.value.trim();
    let total: Progress = { ...initialProgress, state: 'working' };
    let cursor: string | null = null;
    setProgress(total);
    try {
      do {
        const body = {
          action,
          filter,
          limit: stepSize,
          ...(reasonText && { reason: reasonText }),
          ...(cursor && { cursor }),
        };
        const step: BulkStep = await send('POST', 'v1/connections/bulk', body);
        total = addStep(total, step);
        cursor = step.next_cursor;
        setProgress(total);
      } while (cursor !== null && !controller.signal.aborted);
      setProgress({ ...total, state: cursor === null ? 'done' : 'stopped' });
    } catch (error) {
      setProgress({ ...total, state: 'stopped', problem: toProblem(error) });
    }
  };

  const close = () => {
    stopping.current?.abort();
    onClose();
  };
  const targets = Object.keys(filter).length > 0 ? 'all matching connections' : 'all connections';
  return (
    <Dialog title={`${verbs[action]}: ${targets}`} onClose={close}>
      <form onSubmit={start}>
        <p class="soft">{describe(filter)}</p>
        {progress.state === 'confirm' ? (
          <div class="field">
            <label for={reasonId}>{reasonField.label}</label>
            <input id={reasonId} ref={reason} autocomplete="off" data-autofocus />
            <span class="soft">{reasonField.hint}</span>
          </div>
        ) : (
          <ProgressView progress={progress} expected={expected} />
        )}
        <footer>
          <button type="button" class="button" onClick={close}>
            Close
          </button>
          {progress.state === 'confirm' && (
            <button type="submit" class={action === 'cancel' ? 'button danger' : 'button primary'}>
              {verbs[action]}
            </button>
          )}
          {progress.state === 'working' && (
            <button type="button" class="button danger" onClick={() => stopping.current?.abort()}>
              Stop
            </button>
          )}
        </footer>
      </form>
    </Dialog>
  );
}

function addStep(total: Progress, { matched, changed, failed }: BulkStep): Progress {
  return {
    ...total,
    matched: total.matched + matched,
    changed: total.changed + changed,
    refused: total.refused + failed.length,
    failed: [...total.failed, ...failed].slice(0, 20),
  };
}

function describe(filter: Record<string, string>): string {
  const parts = Object.entries(filter).map(([name, value]) =>
    name === 'search' ? `search "${value}"` : `${name.replace('_id', '')} ${value}`,
  );
  return parts.length
    ? `Applies to connections that match: ${parts.join(', ')}.`
    : 'No filter is set: the action applies to all connections.';
}

function ProgressView({ progress, expected }: { progress: Progress; expected: number | undefined }) {
  const { state, matched, changed, refused, failed, problem } = progress;
  const label = { confirm: '', working: 'Working', stopped: 'Stopped', done: 'Done' }[state];
  const share = state === 'done' ? { value: 1, max: 1 } : expected ? { value: matched, max: expected } : {};
  return (
    <div class="progress">
      <progress {...share} aria-label="Progress" />
      <p role="status" class="num">
        {label}: {plural(matched, 'connection')} matched, {number(changed)} changed
        {refused > 0 && `, ${number(refused)} failed`}.
      </p>
      {problem && <ProblemBox problem={problem} />}
      {failed.length > 0 && (
        <ul class="refused">
          {failed.map(({ id, detail }) => (
            <li key={id}>
              <code>{id}</code> {detail}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
