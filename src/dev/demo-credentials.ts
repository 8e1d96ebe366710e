import type { Syncline } from '../syncline.ts';
import { tokenOf } from './provider/tokens.ts';

export interface DemoHolder {
  tenantId: string;
  provider: string;
  /** Whose token it is. */
  holder: string;
}

/** Makes a credential the first time that one is asked for, and gives all that the same token opens the same one. */
export function demoCredentials({ credentials }: Syncline): (holder: DemoHolder) => Promise<string> {
  const ids = new Map<string, Promise<string>>();
  return ({ tenantId, provider, holder }) => {
    const key = tokenOf(provider, holder);
    const known = ids.get(key);
    if (known) return known;
    const input = { tenantId, provider, name: holder, secret: { type: 'api_key' as const, key } };
    const id = credentials.create(input, { actor: 'demo' }).then((made) => made.id);
    ids.set(key, id);
    return id;
  };
}
