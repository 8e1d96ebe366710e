import { useMemo, useState } from 'preact/hooks';
import { type ConnectionHealth, connectionHealths } from '../../contract/states.ts';
import { get } from '../api.ts';
import { now } from '../clock.ts';
import { count, number, plural, timeOf, words } from '../format.ts';
import { Attention } from '../parts/attention.tsx';
import { Choices } from '../parts/choices.tsx';
import { FirstSteps } from '../parts/first-steps.tsx';
import { Icon } from '../parts/icon.tsx';
import { Link } from '../parts/link.tsx';
import { Page, Panel } from '../parts/page.tsx';
import { LoadChart, SeriesCharts } from '../parts/pulse-charts.tsx';
import { LoadedView } from '../parts/states.tsx';
import { Ago } from '../parts/time.tsx';
import { useLatest, useQuery } from '../query.ts';
import { withQuery } from '../router.ts';
import type { AttentionItem, Load, Series, Stats } from '../types.ts';

const ranges = [
  { value: 60, name: '1 h' },
  { value: 360, name: '6 h' },
  { value: 1440, name: '24 h' },
  { value: 10_080, name: '7 d' },
];

export function OverviewPage() {
  const [minutes, setMinutes] = useState(60);
  const stats = useQuery('stats', (signal) => get<Stats>('v1/stats', {}, signal), 4000);
  const attention = useQuery(
    'attention',
    (signal) => get<{ items: AttentionItem[] }>('v1/stats/attention', {}, signal),
    10_000,
  );
  const series = useQuery(
    `series ${minutes}`,
    (signal) => get<Series>('v1/stats/series', { minutes }, signal),
    minutes > 360 ? 60_000 : 10_000,
  );
  const shownSeries = useLatest(series.data);
  const load = useQuery('load', (signal) => get<Load>('v1/stats/load', {}, signal), 30_000);
  return (
    <Page
      title="Overview"
      actions={<Choices label="Time range" options={ranges} value={minutes} choose={setMinutes} />}
    >
      <FirstSteps isEmpty={stats.data?.connections.total.count === 0} />
      <LoadedView query={stats} lines={1} height={72}>
        {(data) => <HealthStrip stats={data} />}
      </LoadedView>
      <Panel title="Needs attention">
        <LoadedView query={attention} lines={3}>
          {({ items }) => <Attention items={items} />}
        </LoadedView>
      </Panel>
      <LoadedView query={{ ...series, data: shownSeries }} lines={2} height={200}>
        {(data) => <SeriesCharts series={data} />}
      </LoadedView>
      <LoadedView query={load} lines={1} height={200}>
        {(data) => <LoadPanel load={data} />}
      </LoadedView>
    </Page>
  );
}

function LoadPanel({ load }: { load: Load }) {
  const total = useMemo(() => load.minutes.reduce((sum, { runs }) => sum + runs, 0), [load]);
  return (
    <Panel title="Load in the next hour" note={`${load.estimated ? 'about ' : ''}${plural(total, 'run')}`}>
      <LoadChart load={load} />
    </Panel>
  );
}

function HealthStrip({ stats }: { stats: Stats }) {
  const { connections, executors, queue, last_hour: hour } = stats;
  const tickMs = timeOf(stats.last_tick_at);
  const isTickOverdue = tickMs === undefined || now.value - tickMs > stats.max_tick_age_seconds * 1000;
  return (
    <>
      <section class="strip" aria-label="Connection health">
        <Tile name="Connections" to="connections" value={count(connections.total)} />
        {connectionHealths.map((health) => (
          <Tile
            key={health}
            name={words(health)}
            icon={health}
            quiet={connections[health]?.count === 0}
            to={withQuery('connections', { health })}
            value={count(connections[health])}
          />
        ))}
      </section>
      <section class="strip" aria-label="Workers and queue">
        {executors && (
          <Tile
            name="Executors"
            value={number(executors.alive)}
            note={plural(executors.slots, 'slot')}
            tone={executors.alive === 0 ? 'bad' : undefined}
          />
        )}
        {executors && (
          <Tile
            name="Last tick"
            value={<Ago at={stats.last_tick_at} />}
            tone={isTickOverdue ? 'bad' : undefined}
          />
        )}
        {queue && (
          <Tile
            name="Queue"
            to={withQuery('jobs', { status: 'queued' })}
            value={`${count(queue.due)} due`}
            note={[
              `${count(queue.running)} running`,
              `${count(queue.backing_off)} backing off`,
              `${count(queue.blocked)} blocked`,
            ].join(' · ')}
          />
        )}
        <Tile
          name="Last hour"
          value={number(hour.succeeded)}
          note={[
            'succeeded',
            `${number(hour.failed)} failed`,
            `${number(hour.retried)} retried`,
            `${number(hour.signals)} signals`,
          ].join(' · ')}
        />
      </section>
    </>
  );
}

interface TileProps {
  name: string;
  value: preact.ComponentChildren;
  note?: string;
  to?: string;
  icon?: ConnectionHealth;
  tone?: 'bad' | undefined;
  quiet?: boolean;
}

function Tile({ name, value, note, to, icon, tone, quiet }: TileProps) {
  const content = (
    <>
      <span class={`tile-name ${icon ? `health-${icon}` : ''}`}>
        {icon && <Icon name={icon} />}
        {name}
      </span>
      <span class="tile-value num">{value}</span>
      {note && <span class="tile-note num">{note}</span>}
    </>
  );
  const classes = `tile ${tone ? `tone-${tone}` : ''} ${quiet ? 'tile-quiet' : ''}`;
  return to === undefined ? (
    <div class={classes}>{content}</div>
  ) : (
    <Link to={to} class={classes}>
      {content}
    </Link>
  );
}
