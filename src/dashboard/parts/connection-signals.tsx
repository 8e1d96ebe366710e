import { useEffect, useState } from 'preact/hooks';
import { get } from '../api.ts';
import { listen } from '../live.ts';
import { useQuery } from '../query.ts';
import { withQuery } from '../router.ts';
import type { Page, Signal } from '../types.ts';
import { Link } from './link.tsx';
import { Panel } from './page.tsx';
import { SignalRows } from './signal-rows.tsx';
import { Empty, LoadedView } from './states.tsx';

const maxShown = 12;

export function ConnectionSignals({ id }: { id: string }) {
  const recent = useQuery(`signals of ${id}`, (signal) =>
    get<Page<Signal>>('v1/signals', { connection_id: id, limit: maxShown, payload: true }, signal),
  );
  const [arrived, setArrived] = useState<Signal[]>([]);
  useEffect(
    () =>
      listen(
        { connection_id: id },
        { onSignal: (received) => setArrived((before) => [received, ...before].slice(0, maxShown)) },
      ),
    [id],
  );
  return (
    <Panel
      title="Recent signals"
      flush
      actions={<Link to={withQuery('signals', { connection_id: id })}>Follow</Link>}
    >
      <LoadedView query={recent} lines={6}>
        {({ items }) => {
          const ids = new Set(arrived.map((signal) => signal.id));
          const shown = [...arrived, ...items.filter((signal) => !ids.has(signal.id))].slice(0, maxShown);
          return shown.length ? (
            <SignalRows signals={shown} hideConnection />
          ) : (
            <Empty>No signals yet.</Empty>
          );
        }}
      </LoadedView>
    </Panel>
  );
}
