import { send } from '../api.ts';
import { markDone } from '../first-steps.ts';
import { useList } from '../list.ts';
import type { Connection, StoredCursor } from '../types.ts';
import { ask, reasonField } from './ask.tsx';
import { JsonLine, JsonView } from './json-view.tsx';
import { ListView } from './list-view.tsx';
import { JobLink } from './names.tsx';
import { Panel } from './page.tsx';
import type { Column } from './table.tsx';
import { Ago } from './time.tsx';
import { notify } from './toast.tsx';

interface Props {
  connection: Connection;
  path: string;
}

export function Cursors({ connection, path }: Props) {
  const list = useList<StoredCursor>(`${path}/cursors`, {}, keyOf, { refreshMs: 15_000, pageSize: 10 });
  const rewind = (to: { job_id: string } | { cursor: null }) =>
    ask({
      title: 'Rewind this connection?',
      text:
        'job_id' in to
          ? 'The next run continues from this cursor. Signals with a dedupe key are not stored twice.'
          : 'The next run starts without a cursor. Signals with a dedupe key are not stored twice.',
      fields: [reasonField],
      confirm: 'Rewind',
      danger: true,
      run: async ({ reason }) => {
        await send('POST', `${path}/rewind`, { ...to, ...(reason && { reason }) });
        markDone('rewind');
        notify('Rewound.');
      },
    });
  const columns: Column<StoredCursor>[] = [
    {
      name: 'Cursor',
      heads: true,
      wide: true,
      cell: ({ cursor }) => (
        <span class="clip">
          <JsonLine value={cursor} />
        </span>
      ),
    },
    { name: 'Stored', numeric: true, cell: ({ at }) => <Ago at={at} /> },
    { name: 'Job', cell: ({ job_id }) => <JobLink id={job_id} /> },
    { name: 'Rewind', cell: (stored) => <RewindButton stored={stored} rewind={rewind} /> },
  ];
  return (
    <Panel
      title="Cursor"
      flush
      actions={
        <button type="button" class="button small" onClick={() => rewind({ cursor: null })}>
          Restart from the beginning
        </button>
      }
    >
      <div class="inset">
        <JsonView value={connection.cursor} label="cursor" />
      </div>
      <ListView
        list={list}
        noun="cursor"
        columns={columns}
        keyOf={keyOf}
        empty="No run has stored a cursor yet."
      />
    </Panel>
  );
}

function keyOf({ job_id, at }: StoredCursor): string {
  return `${job_id} ${at}`;
}

interface RewindProps {
  stored: StoredCursor;
  rewind: (to: { job_id: string }) => void;
}

function RewindButton({ stored: { job_id, current }, rewind }: RewindProps) {
  if (current) return <span class="soft">current</span>;
  if (!job_id) return <span class="faint">–</span>;
  return (
    <button type="button" class="button small" onClick={() => rewind({ job_id })}>
      Rewind
    </button>
  );
}
