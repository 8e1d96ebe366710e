import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { startPulse } from './live.ts';
import { AuditPage } from './pages/audit.tsx';
import { ConnectionPage } from './pages/connection.tsx';
import { ConnectionsPage } from './pages/connections.tsx';
import { JobPage } from './pages/job.tsx';
import { JobsPage } from './pages/jobs.tsx';
import { KeysPage } from './pages/keys.tsx';
import { LoginPage } from './pages/login.tsx';
import { NotFoundPage } from './pages/not-found.tsx';
import { OverviewPage } from './pages/overview.tsx';
import { SignalsPage } from './pages/signals.tsx';
import { SystemPage } from './pages/system.tsx';
import { AskHost } from './parts/ask.tsx';
import { Header } from './parts/header.tsx';
import { OfflineNotice } from './parts/offline-notice.tsx';
import { ProblemBox } from './parts/states.tsx';
import { Toasts } from './parts/toast.tsx';
import { path } from './router.ts';
import { findSession, session } from './session.ts';
import type { Me } from './types.ts';

export function App() {
  const current = session.value;
  switch (current.state) {
    case 'unknown':
      return <p class="waiting soft">Loading…</p>;
    case 'out':
      return <LoginPage />;
    case 'broken':
      return (
        <main class="page">
          <h1>Syncline</h1>
          <ProblemBox problem={current.problem} retry={() => void findSession()} />
        </main>
      );
    case 'in':
      return <SignedIn me={current.me} />;
  }
}

function SignedIn({ me }: { me: Me }) {
  const main = useRef<HTMLElement>(null);
  useEffect(() => startPulse(), []);
  const currentPath = path.value;
  const previousPath = useRef(currentPath);
  useEffect(() => {
    // The clicked link may no longer exist.
    if (previousPath.current !== currentPath) main.current?.focus({ preventScroll: true });
    previousPath.current = currentPath;
  }, [currentPath]);
  const skip = (event: MouseEvent) => {
    event.preventDefault(); // with <base>, the fragment would navigate to another page
    main.current?.focus();
  };
  return (
    <>
      <a href={`${location.pathname}#main`} class="skip" onClick={skip}>
        Skip to content
      </a>
      <Header me={me} />
      <OfflineNotice />
      <main id="main" class="page" ref={main} tabIndex={-1}>
        {pageFor(currentPath, me)}
      </main>
      <Toasts />
      <AskHost />
    </>
  );
}

function pageFor(path: string, me: Me): ComponentChildren {
  const [section = '', id, ...rest] = path.split('/').map(tryDecode);
  if (rest.length > 0) return <NotFoundPage />;
  if (id !== undefined) {
    if (section === 'connections') return <ConnectionPage key={id} id={id} />;
    if (section === 'jobs') return <JobPage key={id} id={id} />;
    return <NotFoundPage />;
  }
  switch (section) {
    case '':
    case 'index.html':
      return <OverviewPage />;
    case 'connections':
      return <ConnectionsPage />;
    case 'jobs':
      return <JobsPage />;
    case 'signals':
      return <SignalsPage />;
    case 'system':
      return me.scope === 'operator' ? <SystemPage /> : <NotFoundPage />;
    case 'audit':
      return <AuditPage />;
    case 'keys':
      return <KeysPage />;
    default:
      return <NotFoundPage />;
  }
}

function tryDecode(part: string): string {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
}
