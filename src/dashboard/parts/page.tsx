import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';

interface PageProps {
  title: string;
  heading?: ComponentChildren;
  actions?: ComponentChildren;
  children: ComponentChildren;
}

export function Page({ title, heading, actions, children }: PageProps) {
  useEffect(() => {
    document.title = `${title} · Syncline`;
  }, [title]);
  return (
    <>
      <div class="page-head">
        <h1>{heading ?? title}</h1>
        {actions && <div class="actions">{actions}</div>}
      </div>
      {children}
    </>
  );
}

interface PanelProps {
  title: string;
  note?: ComponentChildren;
  actions?: ComponentChildren;
  /** Without padding. */
  flush?: boolean;
  class?: string;
  children: ComponentChildren;
}

export function Panel({ title, note, actions, flush, class: className, children }: PanelProps) {
  return (
    <section class={`panel ${className ?? ''}`} aria-label={title}>
      <header>
        <h2>{title}</h2>
        {note && <span class="soft">{note}</span>}
        {actions && <div class="actions">{actions}</div>}
      </header>
      <div class={flush ? 'panel-flush' : 'panel-body'}>{children}</div>
    </section>
  );
}
