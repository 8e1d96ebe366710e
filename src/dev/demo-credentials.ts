import type { Syncline } from '../syncline.ts';
import { tokenOf } from './provider/tokens.ts';

export interface DemoHolder {
  tenantId: string;
  provider: string;
  holder: string;
}

export function demoCredentials({ credentials }: Syncline): (holder: DemoHolder) => Promise<string> {
  const ids = new Map<string, Promise<string>>();
  return ({ tenantId, provider, holder }) => {
    const key = tokenOf(provider, holder);
    const existing = ids.get(key);
    if (existing) return existing;
    const input = { tenantId, provider, name: holder, secret: { type: 'api_key' as const, key } };
    const id = credentials.create(input, { actor: 'demo' }).then((created) => created.id);
    ids.set(key, id);
    return id;
  };
}
