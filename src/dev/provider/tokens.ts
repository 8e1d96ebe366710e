import { createHash } from 'node:crypto';

/** The account whose owner takes its access back, so that the demo shows a connection that needs its user. */
export const revokedAccount = 'kestrel/legacy-api';
/** Long enough to see it sync first. */
const revokedAfterMs = 90_000;

/**
 * The bearer token of an account. Worked out from its name rather than remembered: it is stored with connections that
 * outlive this server, and it opens nothing but made-up data on this machine.
 */
export function tokenOf(provider: string, account: string): string {
  return `demo-${createHash('sha256').update(`${provider}\n${account}`).digest('hex').slice(0, 24)}`;
}

export function isAuthorized(
  {
    provider,
    account,
    authorization,
  }: { provider: string; account: string; authorization: string | undefined },
  serverAgeMs: number,
): boolean {
  if (authorization !== `Bearer ${tokenOf(provider, account)}`) return false;
  return account !== revokedAccount || serverAgeMs < revokedAfterMs;
}
