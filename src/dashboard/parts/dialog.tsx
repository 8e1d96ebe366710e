import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Icon } from './icon.tsx';

interface Props {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}

/** Open as long as it is rendered. The browser keeps the focus inside; afterwards it goes back to where it was. */
export function Dialog({ title, onClose, children }: Props) {
  const element = useRef<HTMLDialogElement>(null);
  const gone = useRef(false);
  const titleId = useId();
  useLayoutEffect(() => {
    const before = document.activeElement;
    const dialog = element.current;
    dialog?.showModal();
    dialog?.querySelector<HTMLElement>('[data-autofocus]')?.focus();
    return () => {
      gone.current = true;
      dialog?.close();
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  // The browser closes it on Escape. That it was closed from here is told too, but only later, and is no news.
  const closed = () => {
    if (!gone.current) onClose();
  };
  return (
    <dialog ref={element} aria-labelledby={titleId} onClose={closed}>
      <header>
        <h2 id={titleId}>{title}</h2>
        <button type="button" class="icon-button" aria-label="Close" onClick={onClose}>
          <Icon name="close" />
        </button>
      </header>
      {children}
    </dialog>
  );
}
