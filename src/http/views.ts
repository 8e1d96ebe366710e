import type { SynclineApi } from '../api/index.ts';
import type { Caller } from '../caller/caller.ts';
import type { Syncline } from '../syncline.ts';
import { keepText } from '../values/stored-json.ts';

const maxViews = 1000;

/** Least recently used views are evicted. */
export function createViews(syncline: Pick<Syncline, 'as'>): (who: Caller) => SynclineApi {
  const views = new Map<string, SynclineApi>();
  return ({ tenantId, actor, keyId }) => {
    // `satisfies`: the key has all fields, or callers could share a view.
    const who = { tenantId, actor, keyId } satisfies Record<keyof Caller, unknown>;
    // Undefined (operator) is not null.
    const key = JSON.stringify(Object.values(who).map((value) => (value === undefined ? [] : [value])));
    const view = views.get(key) ?? syncline.as(who, keepText);
    views.delete(key);
    views.set(key, view);
    const [oldest] = views.keys();
    if (views.size > maxViews && oldest !== undefined) views.delete(oldest);
    return view;
  };
}
