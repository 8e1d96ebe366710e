import type { ComponentChildren } from 'preact';
import { plural } from '../format.ts';
import type { List } from '../list.ts';
import { Empty, ProblemBox, Skeleton } from './states.tsx';
import { type Column, Table } from './table.tsx';

interface Props<Item> {
  list: List<Item>;
  noun: string;
  columns: Column<Item>[];
  keyOf: (item: Item) => string;
  empty: ComponentChildren;
}

export function ListView<Item>({ list, noun, columns, keyOf, empty }: Props<Item>) {
  const { items, hasMore, loading, pristine, problem, loadMore, reload } = list;
  return (
    <>
      {items.length > 0 && (
        <Table caption={`List of ${noun}s`} columns={columns} rows={items} keyOf={keyOf} />
      )}
      {pristine && loading && <Skeleton lines={8} height={20} />}
      {problem && <ProblemBox problem={problem} retry={items.length ? loadMore : reload} />}
      {!loading && !problem && !hasMore && items.length === 0 && <Empty>{empty}</Empty>}
      <div class="list-foot" role="status">
        {items.length > 0 && (
          <span class="soft num">
            {plural(items.length, noun)}
            {hasMore ? ' loaded' : ''}
          </span>
        )}
        {!pristine && loading && <span class="soft">Loading more…</span>}
        {!loading && !problem && hasMore && (
          <>
            {items.length === 0 && <span class="soft">No matches yet.</span>}
            <button type="button" class="button" onClick={loadMore}>
              {items.length === 0 ? 'Continue search' : 'Load more'}
            </button>
          </>
        )}
      </div>
    </>
  );
}
