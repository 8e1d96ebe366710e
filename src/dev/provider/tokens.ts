import { createHash } from 'node:crypto';

/** The demo shows a connection in needs_auth. */
export const revokedHolder = 'kestrel-legacy';
const revokedAfterMs = 90_000;

/** Stored credentials outlive this server. */
export function tokenOf(provider: string, holder: string): string {
  const signature = createHash('sha256').update(`${provider}\n${holder}`).digest('hex').slice(0, 24);
  return `demo-${holder}-${signature}`;
}

export function holderOf(
  provider: string,
  authorization: string | undefined,
  serverAgeMs: number,
): string | undefined {
  const token = authorization?.replace(/^Bearer /, '') ?? '';
  const holder = /^demo-(.+)-[0-9a-f]{24}$/.exec(token)?.[1];
  if (holder === undefined || token !== tokenOf(provider, holder)) return undefined;
  return holder === revokedHolder && serverAgeMs >= revokedAfterMs ? undefined : holder;
}
