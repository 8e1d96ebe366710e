import type { SynclineApi } from '../api/index.ts';
import type { Caller } from '../caller/caller.ts';
import type { Syncline } from '../syncline.ts';
import { keepText } from '../values/stored-json.ts';

const maxViews = 1000;

/** LRU cache of views per caller. */
export function createViews(syncline: Pick<Syncline, 'as'>): (who: Caller) => SynclineApi {
  const views = new Map<string, SynclineApi>();
  return ({ tenantId, actor, keyId }) => {
    // `satisfies` ensures that the key has all fields: otherwise callers could share a view.
    const who = { tenantId, actor, keyId } satisfies Record<keyof Caller, unknown>;
    // Distinguishes undefined, the operator, from null.
    const key = JSON.stringify(Object.values(who).map((value) => (value === undefined ? [] : [value])));
    const view = views.get(key) ?? syncline.as(who, keepText);
    views.delete(key);
    views.set(key, view);
    const [oldest] = views.keys();
    if (views.size > maxViews && oldest !== undefined) views.delete(oldest);
    return view;
  };
}
