import { createHash } from 'node:crypto';

/** Who loses their access, so that the demo shows a connection that needs its user. */
export const revokedHolder = 'kestrel-legacy';
/** Long enough to see it sync first. */
const revokedAfterMs = 90_000;

/**
 * The bearer token of a holder, which says whose it is. Worked out from the name rather than remembered: it is stored with
 * connections that outlive this server, and it opens nothing but made-up data on this machine.
 */
export function tokenOf(provider: string, holder: string): string {
  const signature = createHash('sha256').update(`${provider}\n${holder}`).digest('hex').slice(0, 24);
  return `demo-${holder}-${signature}`;
}

/** Whose token was shown; nobody's if it is none of this provider, or was taken back. */
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
