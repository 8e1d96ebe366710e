import { LRUCache } from 'lru-cache';
import type { SynclineApi } from '../api/index.ts';
import type { Caller } from '../caller/caller.ts';
import type { Syncline } from '../syncline.ts';
import { keepText } from '../values/stored-json.ts';

const maxViews = 1000;

export function createViews(syncline: Pick<Syncline, 'as'>): (who: Caller) => SynclineApi {
  const views = new LRUCache<string, SynclineApi>({ max: maxViews });
  return ({ tenantId, actor, keyId }) => {
    // `satisfies`: with a field missing, callers could share a view.
    const who = { tenantId, actor, keyId } satisfies Record<keyof Caller, unknown>;
    // Undefined (operator) is not null.
    const key = JSON.stringify(Object.values(who).map((value) => (value === undefined ? [] : [value])));
    const view = views.get(key) ?? syncline.as(who, keepText);
    views.set(key, view);
    return view;
  };
}
