import type { ConnectionHealth, JobStatus } from '../../contract/states.ts';
import { words } from '../format.ts';
import type { Run } from '../types.ts';
import { Icon } from './icon.tsx';

type State = ConnectionHealth | JobStatus | Run['outcome'];
type Tone = 'good' | 'bad' | 'warn' | 'info' | 'calm';

const tones: Record<State, Tone> = {
  ok: 'good',
  failing: 'bad',
  needs_auth: 'warn',
  paused: 'calm',
  disabled: 'calm',
  queued: 'calm',
  running: 'info',
  succeeded: 'good',
  failed: 'bad',
  cancelled: 'calm',
  retried: 'warn',
  lost: 'warn',
};

function toneOf(state: State): Tone {
  return tones[state] ?? 'calm';
}

export function Badge({ state, title }: { state: State; title?: string | undefined }) {
  return (
    <span class={`badge tone-${toneOf(state)}`} title={title}>
      <Icon name={state in tones ? state : 'lost'} />
      {words(state)}
    </span>
  );
}
