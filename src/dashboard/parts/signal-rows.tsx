import { useState } from 'preact/hooks';
import { get } from '../api.ts';
import { useQuery } from '../query.ts';
import type { Signal } from '../types.ts';
import { Icon } from './icon.tsx';
import { JsonLine, JsonView } from './json-view.tsx';
import { ConnectionLink, JobLink } from './names.tsx';
import { LoadedView } from './states.tsx';
import { Clock } from './time.tsx';

interface Props {
  signals: Signal[];
  hideConnection?: boolean;
}

export function SignalRows({ signals, hideConnection = false }: Props) {
  return (
    <ul class="signals">
      {signals.map((signal) => (
        <SignalRow key={signal.id} signal={signal} hideConnection={hideConnection} />
      ))}
    </ul>
  );
}

function SignalRow({ signal, hideConnection }: { signal: Signal; hideConnection: boolean }) {
  const [open, setOpen] = useState(false);
  return (
    <li class={open ? 'open' : ''}>
      <button type="button" class="signal-line" aria-expanded={open} onClick={() => setOpen(!open)}>
        <Icon name="right" />
        <Clock at={signal.received_at} />
        <b>{signal.kind}</b>
        {!hideConnection && (
          <span class="soft" title={signal.provider}>
            {signal.connection_name ?? signal.provider}
          </span>
        )}
        {signal.payload !== undefined && <JsonLine value={signal.payload} />}
      </button>
      {open && <SignalDetail signal={signal} />}
    </li>
  );
}

function SignalDetail({ signal }: { signal: Signal }) {
  // Lists may omit payloads.
  const full = useQuery(signal.id, async (abort) =>
    signal.payload === undefined ? await get<Signal>(`v1/signals/${signal.id}`, {}, abort) : signal,
  );
  return (
    <div class="signal-open">
      <p class="soft">
        occurred <Clock at={signal.occurred_at} /> · connection{' '}
        <ConnectionLink id={signal.connection_id} name={signal.connection_name} /> · job{' '}
        <JobLink id={signal.job_id} />
        {signal.dedupe_key && (
          <>
            {' '}
            · dedupe key <code>{signal.dedupe_key}</code>
          </>
        )}
      </p>
      <LoadedView query={full} lines={3}>
        {({ payload }) => <JsonView value={payload} label="payload" />}
      </LoadedView>
    </div>
  );
}
