import { navigate } from './router.ts';

/** `/`: search; `g` and a letter: page. */
export function startKeyboard(pages: Record<string, string> = {}): void {
  let afterG = false;
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const to = afterG ? pages[event.key] : undefined;
    afterG = event.key === 'g';
    if (to !== undefined) navigate(to);
    else if (event.key === '/') {
      const search = document.querySelector<HTMLInputElement>('[data-search]');
      if (!search) return;
      event.preventDefault();
      search.focus();
      search.select();
    }
  });
}

function isTyping(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  return target.closest('input, textarea, select, dialog, [contenteditable]') !== null;
}
