import type { DemoProviderList } from '../../http/index.ts';
import { get, send, toProblem } from '../api.ts';
import { markDone } from '../first-steps.ts';
import { useQuery } from '../query.ts';
import { Badge } from './badge.tsx';
import { Panel } from './page.tsx';
import { LoadedView } from './states.tsx';
import { type Column, Table } from './table.tsx';
import { notify } from './toast.tsx';

type DemoProvider = DemoProviderList['items'][number];

export function DemoProviders() {
  const providers = useQuery(
    'demo providers',
    (signal) => get<DemoProviderList>('v1/demo/providers', {}, signal),
    6000,
  );
  return (
    <Panel
      title="Simulated providers"
      note="A broken provider returns a server error for every request."
      flush
    >
      <LoadedView query={providers} lines={4}>
        {({ items }) => (
          <Table caption="Simulated providers" columns={columns} rows={items} keyOf={({ slug }) => slug} />
        )}
      </LoadedView>
    </Panel>
  );
}

const columns: Column<DemoProvider>[] = [
  { name: 'Provider', heads: true, wide: true, cell: ({ name }) => name },
  { name: 'State', cell: ({ broken }) => <Badge state={broken ? 'failing' : 'ok'} /> },
  { name: 'Change', cell: (provider) => <BreakButton provider={provider} /> },
];

function BreakButton({ provider: { slug, name, broken } }: { provider: DemoProvider }) {
  const change = () =>
    send('PUT', `v1/demo/providers/${encodeURIComponent(slug)}`, { broken: !broken }).then(
      () => {
        if (!broken) markDone('break');
        notify(broken ? `Requests to ${name} succeed again.` : `Requests to ${name} now fail.`);
      },
      (error: unknown) => notify(toProblem(error).detail),
    );
  return (
    <button
      type="button"
      class={`button small ${broken ? 'primary' : 'danger'}`}
      onClick={() => void change()}
    >
      {broken ? `Heal ${name}` : `Break ${name}`}
    </button>
  );
}
