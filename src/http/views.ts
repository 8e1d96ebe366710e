import type { View } from '../api/index.ts';
import type { Caller } from '../caller/caller.ts';
import type { Syncline } from '../syncline.ts';
import { keepText } from '../values/stored-json.ts';

/** Callers whose views are kept; the one not used for longest is dropped first. */
const maxKept = 1000;

/** Builds each caller's view once: it depends on nothing but who the caller is. */
export function createViews(syncline: Pick<Syncline, 'as'>): (who: Caller) => View {
  const views = new Map<string, View>();
  return ({ tenantId, actor, keyId }) => {
    // A field that is missing here would let callers share a view who must not: the compiler asks for all of them.
    const who = { tenantId, actor, keyId } satisfies Record<keyof Caller, unknown>;
    // JSON writes undefined and null alike; only undefined is the operator.
    const key = JSON.stringify(Object.values(who).map((value) => (value === undefined ? [] : [value])));
    const view = views.get(key) ?? syncline.as(who, keepText);
    views.delete(key);
    views.set(key, view);
    const [oldest] = views.keys();
    if (views.size > maxKept && oldest !== undefined) views.delete(oldest);
    return view;
  };
}
