import type { ComponentChildren } from 'preact';
import type { Loaded } from '../query.ts';
import type { Problem } from '../types.ts';
import { Icon } from './icon.tsx';

/** What stands in for content that is on its way. */
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

/** What the server refused or could not do, why, and what may help. */
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

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>;
}

interface LoadedViewProps<Data> {
  of: Loaded<Data>;
  lines?: number;
  height?: number;
  children: (data: Data) => ComponentChildren;
}

/** Content, or a skeleton until it is there. An error leaves what was there before in sight. */
export function LoadedView<Data>({ of: loaded, lines, height, children }: LoadedViewProps<Data>) {
  const skeleton = { ...(lines ? { lines } : {}), ...(height ? { height } : {}) };
  return (
    <>
      {loaded.problem && <ProblemBox problem={loaded.problem} retry={loaded.reload} />}
      {loaded.data !== undefined && children(loaded.data)}
      {loaded.data === undefined && !loaded.problem && <Skeleton {...skeleton} />}
    </>
  );
}
