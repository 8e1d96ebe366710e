import { useState } from 'preact/hooks';
import { get } from '../api.ts';
import { number } from '../format.ts';
import { ProviderFilter, TextFilter } from '../parts/filters.tsx';
import { Page } from '../parts/page.tsx';
import { SignalRows } from '../parts/signal-rows.tsx';
import { Empty, LoadedView } from '../parts/states.tsx';
import { useQuery } from '../query.ts';
import { query } from '../router.ts';
import { maxSignals, useTail } from '../tail.ts';
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
  const stored = useQuery(`signals ${JSON.stringify(filter)}`, (signal) =>
    get<ApiPage<Signal>>('v1/signals', { ...filter, limit: 50, payload: true }, signal),
  );
  return (
    <Page
      title="Signals"
      actions={
        <>
          <TailState waiting={tail.waiting} stopped={stopped} hovered={hovered} state={tail.state} />
          <button type="button" class="button" aria-pressed={stopped} onClick={() => setStopped(!stopped)}>
            {stopped ? 'Resume' : 'Pause'}
          </button>
        </>
      }
    >
      <search class="filters">
        <TextFilter name="kind" label="Kind" placeholder="issue.opened  ( / )" search />
        <ProviderFilter />
        <TextFilter name="connection_id" label="Connection" placeholder="ID" />
      </search>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: hovering only pauses, as the button does */}
      <div class="panel" onMouseEnter={() => setHovered(true)} onMouseLeave={() => setHovered(false)}>
        <LoadedView query={stored} lines={12}>
          {({ items }) => {
            const shown = mergeUnique(tail.shown, items);
            if (shown.length === 0) return <Empty>No matching signals yet. New signals appear here.</Empty>;
            return <SignalRows signals={shown} />;
          }}
        </LoadedView>
      </div>
      <p class="list-foot soft">
        Shows up to {number(maxSignals)} recent signals. To list all signals, use GET /v1/signals.
      </p>
    </Page>
  );
}

function mergeUnique(arrived: Signal[], stored: Signal[]): Signal[] {
  const ids = new Set(arrived.map(({ id }) => id));
  return [...arrived, ...stored.filter(({ id }) => !ids.has(id))].slice(0, maxSignals);
}

interface StateProps {
  waiting: number;
  stopped: boolean;
  hovered: boolean;
  state: string;
}

function TailState({ waiting, stopped, hovered, state }: StateProps) {
  const paused = stopped ? 'Paused' : hovered ? 'Paused while hovering' : '';
  const text = paused ? `${paused}, ${number(waiting)} waiting` : state === 'open' ? 'Live' : 'Connecting…';
  return <span class="soft num">{text}</span>;
}
