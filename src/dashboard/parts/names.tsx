import { shortId } from '../format.ts';
import type { Connection } from '../types.ts';
import { Link } from './link.tsx';

export function connectionName({ external_id, id }: Pick<Connection, 'external_id' | 'id'>): string {
  return external_id || shortId(id);
}

interface ConnectionLinkProps {
  id: string | null;
  name?: string | null;
}

export function ConnectionLink({ id, name }: ConnectionLinkProps) {
  if (!id) return <span class="faint">–</span>;
  return (
    <Link to={`connections/${id}`} class={name ? '' : 'id'} title={id}>
      {name || shortId(id)}
    </Link>
  );
}

export function JobLink({ id }: { id: string | null }) {
  if (!id) return <span class="faint">–</span>;
  return (
    <Link to={`jobs/${id}`} class="id" title={id}>
      {shortId(id)}
    </Link>
  );
}

export function KeyLink({ id }: { id: string | null }) {
  if (!id) return <span class="faint">–</span>;
  return (
    <Link to={`audit?key_id=${id}`} class="id" title={id}>
      {shortId(id)}
    </Link>
  );
}
