import { render } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { get } from '../api.ts';
import { startKeyboard } from '../keyboard.ts';
import { Mark, ThemeButton } from '../parts/header.tsx';
import { Empty, LoadedView } from '../parts/states.tsx';
import { useQuery } from '../query.ts';
import { hrefOf } from '../router.ts';
import { startTheme } from '../theme.ts';
import { EndpointView } from './endpoint.tsx';
import { type Group, groupsOf, matches, type OpenApi } from './openapi.ts';
import { Prose } from './prose.tsx';

startTheme();
startKeyboard();

const root = document.getElementById('app');
if (root) render(<Docs />, root);

function Docs() {
  const api = useQuery('openapi', (signal) => get<OpenApi>('openapi.json', {}, signal));
  return (
    <>
      <header class="top">
        <a href={hrefOf('')} class="brand">
          <Mark />
          Syncline
        </a>
        <div class="top-right docs-top">
          <a href={hrefOf('openapi.json')}>openapi.json</a>
          <ThemeButton />
        </div>
      </header>
      {api.data ? (
        <Document api={api.data} />
      ) : (
        <main class="page">
          <h1>API</h1>
          <LoadedView query={api} lines={10}>
            {() => null}
          </LoadedView>
        </main>
      )}
    </>
  );
}

function Document({ api }: { api: OpenApi }) {
  const [text, setText] = useState('');
  const all = useMemo(() => groupsOf(api), [api]);
  const groups = all
    .map((group) => ({
      ...group,
      endpoints: group.endpoints.filter((endpoint) => matches(endpoint, text.trim())),
    }))
    .filter(({ endpoints }) => endpoints.length > 0);
  // The browser resolved the fragment before endpoints were rendered.
  useEffect(() => {
    if (location.hash) document.getElementById(location.hash.slice(1))?.scrollIntoView();
  }, []);
  return (
    <div class="docs">
      <div class="docs-side">
        <search class="filter">
          <label for="find">Find an endpoint</label>
          <input
            id="find"
            type="search"
            value={text}
            data-search
            autocomplete="off"
            onInput={(event) => setText(event.currentTarget.value)}
          />
        </search>
        <nav aria-label="Endpoints">
          {groups.map((group) => (
            <SideGroup key={group.name} group={group} />
          ))}
        </nav>
      </div>
      <main>
        <h1>
          {api.info.title} <span class="soft">{api.info.version}</span>
        </h1>
        {api.info.description && (
          <p class="prose soft">
            <Prose text={api.info.description} />
          </p>
        )}
        {groups.length === 0 && <Empty>No matching endpoints.</Empty>}
        {groups.map((group) => (
          <GroupView key={group.name} api={api} group={group} />
        ))}
      </main>
    </div>
  );
}

function SideGroup({ group }: { group: Group }) {
  return (
    <>
      <h2>{group.name}</h2>
      {group.endpoints.map(({ anchor, method, path }) => (
        <a key={anchor} href={`${location.pathname}#${anchor}`}>
          {method.toUpperCase()} {path.replace(/^\/v1/, '')}
        </a>
      ))}
    </>
  );
}

function GroupView({ api, group }: { api: OpenApi; group: Group }) {
  return (
    <>
      <h2>{group.name}</h2>
      {group.description && <p class="prose soft">{group.description}</p>}
      {group.endpoints.map((endpoint) => (
        <EndpointView key={endpoint.anchor} api={api} endpoint={endpoint} />
      ))}
    </>
  );
}
