import { useEffect, useState } from 'preact/hooks';
import { toProblem } from '../api.ts';
import { liveState } from '../live.ts';
import { hrefOf, path } from '../router.ts';
import { logOut } from '../session.ts';
import { nextTheme, theme } from '../theme.ts';
import type { Me } from '../types.ts';
import { Icon } from './icon.tsx';
import { Link } from './link.tsx';
import { notify } from './toast.tsx';

const pages = [
  { to: '', name: 'Overview' },
  { to: 'connections', name: 'Connections' },
  { to: 'jobs', name: 'Jobs' },
  { to: 'signals', name: 'Signals' },
  { to: 'system', name: 'System', operator: true },
  { to: 'audit', name: 'Audit' },
  { to: 'keys', name: 'Keys' },
];

export function Header({ me }: { me: Me }) {
  const [open, setOpen] = useState(false);
  const currentPath = path.value;
  useEffect(() => setOpen(false), [currentPath]);
  return (
    <header class="top">
      <Link to="" class="brand">
        <Mark />
        Syncline
      </Link>
      <button
        type="button"
        class="icon-button menu-button"
        aria-expanded={open}
        aria-controls="navigation"
        aria-label="Menu"
        onClick={() => setOpen(!open)}
      >
        <Icon name={open ? 'close' : 'menu'} />
      </button>
      <div id="navigation" class={open ? 'top-menu open' : 'top-menu'}>
        <nav aria-label="Pages">
          {pages
            .filter(({ operator }) => !operator || me.scope === 'operator')
            .map(({ to, name }) => (
              <Link key={to} to={to} current={currentPath.split('/')[0] === to}>
                {name}
              </Link>
            ))}
          <a href={hrefOf('docs')}>API</a>
        </nav>
        <div class="top-right">
          <LiveState />
          <span class="who" title={`Logged in as ${me.actor}; version ${me.version}`}>
            {me.scope === 'tenant' ? (me.tenant_name ?? 'tenant') : 'operator'}
          </span>
          <ThemeButton />
          <button type="button" class="button small" onClick={handleLogOut}>
            Log out
          </button>
        </div>
      </div>
    </header>
  );
}

function handleLogOut(): void {
  logOut().catch((error: unknown) => notify(`Logout failed: ${toProblem(error).detail}`));
}

export function Mark() {
  return (
    <svg class="mark" viewBox="0 0 24 24" aria-hidden="true">
      <rect width="24" height="24" rx="6" />
      <path d="M5 8c3 0 4 8 7 8s4-8 7-8" />
    </svg>
  );
}

const stateLabels = { connecting: 'Connecting', open: 'Live', lost: 'Reconnecting' } as const;

function LiveState() {
  const state = liveState.value;
  return (
    <span class={`live live-${state}`} role="status">
      <i aria-hidden="true" />
      {stateLabels[state]}
    </span>
  );
}

const themeStyles = {
  system: { icon: 'system', name: 'system' },
  light: { icon: 'sun', name: 'light' },
  dark: { icon: 'moon', name: 'dark' },
} as const;

export function ThemeButton() {
  const { icon, name } = themeStyles[theme.value];
  return (
    <button
      type="button"
      class="icon-button"
      onClick={nextTheme}
      aria-label={`Theme: ${name}. Switch theme`}
      title={`Theme: ${name}`}
    >
      <Icon name={icon} />
    </button>
  );
}
