import type { ComponentChildren } from 'preact';
import { unreachableCode } from '../api.ts';
import type { Loaded } from '../query.ts';
import type { Problem } from '../types.ts';
import { Icon } from './icon.tsx';

export function Skeleton({ lines = 3, height }: { lines?: number; height?: number }) {
  return (
    <div class="skeleton" aria-hidden="true">
      {Array.from({ length: lines }, (_, line) => (
        <div
          key={line}
          style={height ? { height: `${height}px` } : { width: `${92 - ((line * 17) % 40)}%` }}
        />
      ))}
    </div>
  );
}

export function ProblemBox({ problem, retry }: { problem: Problem; retry?: () => void }) {
  return (
    <div class="problem" role="alert">
      <Icon name="attention" />
      <div>
        <strong>{problem.title}</strong>
        <p>{problem.detail}</p>
        {problem.hint && <p class="soft">{problem.hint}</p>}
        {retry && (
          <button type="button" class="button" onClick={retry}>
            Try again
          </button>
        )}
      </div>
    </div>
  );
}

/** OfflineNotice covers an unreachable server. */
function Stale({ problem, retry }: { problem: Problem; retry: () => void }) {
  if (problem.code === unreachableCode) return null;
  return (
    <p class="stale" role="status">
      <Icon name="attention" /> Not up to date: {problem.detail}
      <button type="button" class="button small" onClick={retry}>
        Try again
      </button>
    </p>
  );
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

interface LoadedViewProps<Data> {
  query: Loaded<Data>;
  lines?: number;
  height?: number;
  children: (data: Data) => ComponentChildren;
}

/** Previous content stays visible. */
export function LoadedView<Data>({ query: loaded, lines, height, children }: LoadedViewProps<Data>) {
  const skeleton = { ...(lines ? { lines } : {}), ...(height ? { height } : {}) };
  return (
    <>
      {loaded.problem && loaded.data === undefined && (
        <ProblemBox problem={loaded.problem} retry={loaded.reload} />
      )}
      {loaded.problem && loaded.data !== undefined && (
        <Stale problem={loaded.problem} retry={loaded.reload} />
      )}
      {loaded.data !== undefined && children(loaded.data)}
      {loaded.data === undefined && !loaded.problem && <Skeleton {...skeleton} />}
    </>
  );
}
