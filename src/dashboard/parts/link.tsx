import type { ComponentChildren } from 'preact';
import { hrefOf, navigate } from '../router.ts';

interface Props {
  to: string;
  children: ComponentChildren;
  class?: string | undefined;
  title?: string | undefined;
  label?: string | undefined;
  current?: boolean;
}

/** Plain clicks navigate in the app. */
export function Link({ to, children, class: className, title, label, current }: Props) {
  const follow = (event: MouseEvent) => {
    if (event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    event.preventDefault();
    navigate(to);
  };
  return (
    <a
      href={hrefOf(to)}
      onClick={follow}
      class={className}
      title={title}
      aria-label={label}
      aria-current={current ? 'page' : undefined}
    >
      {children}
    </a>
  );
}
