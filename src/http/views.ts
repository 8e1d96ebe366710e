import { LRUCache } from 'lru-cache';
import type { Caller, Syncline, SynclineApi } from '../index.ts';
import { keepText } from '../values/stored-json.ts';

const maxViews = 1000;

export function createViews(syncline: Pick<Syncline, 'as'>): (caller: Caller) => SynclineApi {
  const views = new LRUCache<string, SynclineApi>({ max: maxViews });
  return ({ tenantId, actor, keyId }) => {
    // `satisfies`: with a field missing from the key, callers could share a view.
    const caller = { tenantId, actor, keyId } satisfies Record<keyof Caller, unknown>;
    // Undefined (operator) is not null.
    const key = JSON.stringify(Object.values(caller).map((value) => (value === undefined ? [] : [value])));
    const view = views.get(key) ?? syncline.as(caller, keepText);
    views.set(key, view);
    return view;
  };
}
