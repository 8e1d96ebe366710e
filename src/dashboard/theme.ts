import { effect, signal } from '@preact/signals';

export type Theme = 'system' | 'light' | 'dark';

const storageKey = 'syncline.theme';
const order: Theme[] = ['system', 'light', 'dark'];

export const theme = signal<Theme>(storedTheme());

/** Incremented when canvases must redraw. */
export const repaint = signal(0);

function storedTheme(): Theme {
  try {
    const value = localStorage.getItem(storageKey);
    return order.find((candidate) => candidate === value) ?? 'system';
  } catch {
    return 'system'; // storage may be blocked; the theme is then not persisted
  }
}

export function nextTheme(): void {
  theme.value = order[(order.indexOf(theme.value) + 1) % order.length] ?? 'system';
}

export function startTheme(): void {
  effect(() => {
    const root = document.documentElement;
    if (theme.value === 'system') root.removeAttribute('data-theme');
    else root.setAttribute('data-theme', theme.value);
    try {
      localStorage.setItem(storageKey, theme.value);
    } catch {
      // see above
    }
    repaint.value = repaint.peek() + 1;
  });
  matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => {
    repaint.value++;
  });
}

/** Canvases cannot resolve custom properties. */
export function colour(name: string, within: HTMLElement): string {
  const probe = document.createElement('span');
  probe.style.color = `var(--${name})`;
  within.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}
