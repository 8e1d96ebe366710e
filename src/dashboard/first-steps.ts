import { signal } from '@preact/signals';

export type Step = 'break' | 'rewind' | 'add';

interface Progress {
  done: readonly Step[];
  isDismissed: boolean;
}

const storageKey = 'syncline.first-steps';

export const progress = signal<Progress>(storedProgress());

/** Set by `syncline dev`. */
export const isDemo = document.querySelector('meta[name="syncline-demo"]') !== null;

export function markDone(step: Step): void {
  if (!progress.value.done.includes(step)) store({ ...progress.value, done: [...progress.value.done, step] });
}

export function dismiss(): void {
  store({ ...progress.value, isDismissed: true });
}

function store(next: Progress): void {
  progress.value = next;
  try {
    localStorage.setItem(storageKey, JSON.stringify(next));
  } catch {
    // Storage may be blocked.
  }
}

function storedProgress(): Progress {
  try {
    const stored: unknown = JSON.parse(localStorage.getItem(storageKey) ?? '{}');
    const { done, isDismissed } = Object(stored) as Partial<Record<keyof Progress, unknown>>;
    return { done: Array.isArray(done) ? (done as Step[]) : [], isDismissed: isDismissed === true };
  } catch {
    return { done: [], isDismissed: false };
  }
}
