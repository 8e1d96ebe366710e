import { send } from '../api.ts';
import { number, plural, words } from '../format.ts';
import { withQuery } from '../router.ts';
import type { AttentionItem, RepairStep } from '../types.ts';
import { ask, reasonField } from './ask.tsx';
import { Icon, type IconName } from './icon.tsx';
import { Link } from './link.tsx';
import { Empty } from './states.tsx';
import { Ago } from './time.tsx';
import { notify } from './toast.tsx';

interface Style {
  icon: IconName;
  tone: string;
  label?: string;
}

const styles: Record<AttentionItem['cause'], Style> = {
  needs_auth: { icon: 'needs_auth', tone: 'warn' },
  failing: { icon: 'failing', tone: 'bad' },
  overdue: { icon: 'queued', tone: 'warn' },
  too_far_ahead: { icon: 'queued', tone: 'bad' },
  unserved: { icon: 'lost', tone: 'bad', label: 'no executor' },
};

export function Attention({ items }: { items: AttentionItem[] }) {
  if (items.length === 0) return <Empty>No problems found.</Empty>;
  return (
    <ul class="attention">
      {items.map((item) => (
        <Item key={`${item.cause} ${item.provider} ${item.failure}`} item={item} />
      ))}
    </ul>
  );
}

function Item({ item }: { item: AttentionItem }) {
  const style: Style = styles[item.cause] ?? { icon: 'attention', tone: 'warn' };
  const { icon, tone, label = words(item.cause) } = style;
  const to = linkTarget(item);
  return (
    <li>
      <span class={`attention-cause tone-${tone}`}>
        <Icon name={icon} />
        <b class="num">
          {number(item.count)}
          {item.at_least ? '+' : ''}
        </b>
        {label}
      </span>
      <div class="attention-text">
        <p>
          {item.provider && <strong>{item.provider}</strong>}
          {item.provider && item.failure && ' · '}
          {item.failure && words(item.failure)}
          {item.message && <span class="attention-message">{item.message}</span>}
        </p>
        <p class="soft">{item.remedy}</p>
      </div>
      <div class="attention-since soft">
        {item.since && (
          <span>
            started <Ago at={item.since} />
          </span>
        )}
        {to !== undefined && (
          <Link to={to} label={`Show ${label}${item.provider ? ` for ${item.provider}` : ''}`}>
            Show
          </Link>
        )}
        {item.cause === 'too_far_ahead' && (
          <button type="button" class="button" onClick={askRepair}>
            Repair
          </button>
        )}
      </div>
    </li>
  );
}

function askRepair(): void {
  ask({
    title: 'Repair the schedule?',
    text: 'Reschedules runs and retries that are further ahead than the schedule, jitter and backoff allow.',
    fields: [reasonField],
    confirm: 'Repair',
    run: async ({ reason }) => notify(resultText(await repair(reason))),
  });
}

const stepSize = 100;

async function repair(reason: string | undefined): Promise<RepairResult> {
  const total = { connections: 0, jobs: 0, skipped: 0 };
  let cursor: string | null = null;
  do {
    const body = { limit: stepSize, ...(reason && { reason }), ...(cursor && { cursor }) };
    const step: RepairStep = await send('POST', 'v1/connections/repair-schedule', body);
    total.connections += step.items.filter(({ next_run_at: moved }) => moved !== null).length;
    total.jobs += step.items.reduce((sum, { job_ids: jobs }) => sum + jobs.length, 0);
    total.skipped += step.skipped;
    cursor = step.next_cursor;
  } while (cursor !== null);
  return total;
}

interface RepairResult {
  connections: number;
  jobs: number;
  skipped: number;
}

function resultText({ connections, jobs, skipped }: RepairResult): string {
  const text = `Rescheduled ${plural(connections, 'connection')} and ${plural(jobs, 'job')}.`;
  return skipped > 0
    ? `${text} Skipped ${plural(skipped, 'locked connection')}; run the repair again.`
    : text;
}

/** Without a filter, the queue. */
function linkTarget({ cause, filter, provider }: AttentionItem): string | undefined {
  if (filter) return withQuery('connections', filter);
  return cause === 'overdue' || cause === 'unserved'
    ? withQuery('jobs', { status: 'queued', provider })
    : undefined;
}
