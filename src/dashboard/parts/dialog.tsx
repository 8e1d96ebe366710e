import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
import { Icon } from './icon.tsx';

interface Props {
  title: string;
  onClose: () => void;
  children: ComponentChildren;
}

/** Open while rendered; on close the focus returns. */
export function Dialog({ title, onClose, children }: Props) {
  const element = useRef<HTMLDialogElement>(null);
  const isUnmounted = useRef(false);
  const titleId = useId();
  useLayoutEffect(() => {
    const previousFocus = document.activeElement;
    const dialog = element.current;
    dialog?.showModal();
    dialog?.querySelector<HTMLElement>('[data-autofocus]')?.focus();
    return () => {
      isUnmounted.current = true;
      dialog?.close();
      if (previousFocus instanceof HTMLElement) previousFocus.focus();
    };
  }, []);
  // On Escape, and after close() on unmount, which is ignored.
  const handleClose = () => {
    if (!isUnmounted.current) onClose();
  };
  return (
    <dialog ref={element} aria-labelledby={titleId} onClose={handleClose}>
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
