import { number, words } from '../format.ts';
import { withQuery } from '../router.ts';
import type { AttentionItem } from '../types.ts';
import { Icon, type IconName } from './icon.tsx';
import { Link } from './link.tsx';
import { Empty } from './states.tsx';
import { Ago } from './time.tsx';

const looks: Record<AttentionItem['cause'], { icon: IconName; tone: string }> = {
  needs_auth: { icon: 'needs_auth', tone: 'warn' },
  failing: { icon: 'failing', tone: 'bad' },
  paused: { icon: 'paused', tone: 'calm' },
  overdue: { icon: 'queued', tone: 'warn' },
  unserved: { icon: 'lost', tone: 'bad' },
};

/** What a person should look at, one line per cause, with what helps. */
export function Attention({ items }: { items: AttentionItem[] }) {
  if (items.length === 0) return <Empty>Nothing. Every connection syncs as it should.</Empty>;
  return (
    <ul class="attention">
      {items.map((item) => (
        <Item key={`${item.cause} ${item.provider} ${item.failure}`} item={item} />
      ))}
    </ul>
  );
}

function Item({ item }: { item: AttentionItem }) {
  const { icon, tone } = looks[item.cause] ?? { icon: 'attention', tone: 'warn' };
  const to = placeOf(item);
  return (
    <li>
      <span class={`attention-cause tone-${tone}`}>
        <Icon name={icon} />
        <b class="num">
          {number(item.count)}
          {item.at_least ? '+' : ''}
        </b>
        {words(item.cause)}
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
            since <Ago at={item.since} />
          </span>
        )}
        {to !== undefined && (
          <Link
            to={to}
            label={`Show what is ${words(item.cause)}${item.provider ? ` of ${item.provider}` : ''}`}
          >
            Show
          </Link>
        )}
      </div>
    </li>
  );
}

/** Where to look further: at the connections it concerns or, where no filter finds them, at what waits in the queue. */
function placeOf({ cause, filter, provider }: AttentionItem): string | undefined {
  if (filter) return withQuery('connections', filter);
  return cause === 'overdue' || cause === 'unserved'
    ? withQuery('jobs', { status: 'queued', provider })
    : undefined;
}
