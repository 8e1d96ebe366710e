import { useState } from 'preact/hooks';
import { get } from '../api.ts';
import { number } from '../format.ts';
import { ProviderFilter, TextFilter } from '../parts/filters.tsx';
import { Page } from '../parts/page.tsx';
import { SignalRows } from '../parts/signal-rows.tsx';
import { Empty, LoadedView } from '../parts/states.tsx';
import { useQuery } from '../query.ts';
import { query } from '../router.ts';
import { keptAtMost, useTail } from '../tail.ts';
import type { Page as ApiPage, Signal } from '../types.ts';

export function SignalsPage() {
  const [stopped, setStopped] = useState(false);
  const [hovered, setHovered] = useState(false);
  const filter = {
    provider: query.value.get('provider'),
    kind: query.value.get('kind'),
    connection_id: query.value.get('connection_id'),
  };
  const tail = useTail(filter, stopped || hovered);
  const before = useQuery(`signals ${JSON.stringify(filter)}`, (signal) =>
    get<ApiPage<Signal>>('v1/signals', { ...filter, limit: 50, payload: true }, signal),
  );
  return (
    <Page
      title="Signals"
      actions={
        <>
          <TailState waiting={tail.waiting} stopped={stopped} hovered={hovered} state={tail.state} />
          <button type="button" class="button" aria-pressed={stopped} onClick={() => setStopped(!stopped)}>
            {stopped ? 'Go on' : 'Pause'}
          </button>
        </>
      }
    >
      <search class="filters">
        <TextFilter name="kind" label="Kind" placeholder="issue.opened  ( / )" search />
        <ProviderFilter />
        <TextFilter name="connection_id" label="Connection" placeholder="Id" />
      </search>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: pointing only keeps rows from moving; the button does the same */}
      <div class="panel" onMouseEnter={() => setHovered(true)} onMouseLeave={() => setHovered(false)}>
        <LoadedView of={before} lines={12}>
          {({ items }) => {
            const shown = joined(tail.shown, items);
            if (shown.length === 0)
              return <Empty>No signal matches yet. New ones appear here as they come in.</Empty>;
            return <SignalRows signals={shown} />;
          }}
        </LoadedView>
      </div>
      <p class="list-foot soft">
        The newest {number(keptAtMost)} are kept here. Everything is in the API: v1/signals.
      </p>
    </Page>
  );
}

function joined(arrived: Signal[], before: Signal[]): Signal[] {
  const known = new Set(arrived.map(({ id }) => id));
  return [...arrived, ...before.filter(({ id }) => !known.has(id))].slice(0, keptAtMost);
}

interface StateProps {
  waiting: number;
  stopped: boolean;
  hovered: boolean;
  state: string;
}

function TailState({ waiting, stopped, hovered, state }: StateProps) {
  const paused = stopped ? 'Paused' : hovered ? 'Held while you point at it' : '';
  const said = paused
    ? `${paused}, ${number(waiting)} waiting`
    : state === 'open'
      ? 'Following'
      : 'Connecting…';
  return <span class="soft num">{said}</span>;
}
