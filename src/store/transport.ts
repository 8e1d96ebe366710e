import pg from 'pg';

export interface Transport {
  /** A host name, an address, or the folder of a Unix socket. */
  host: string;
  tls: 'off' | 'unverified' | 'verified';
}

/** @types/pg declares only the flag. */
type TlsOptions = boolean | { rejectUnauthorized?: boolean };

/** How the driver connects to `url`, including PGHOST and PGSSLMODE. Opens no connection. */
export function transportOf(url: string | undefined): Transport {
  const { host, ssl } = new pg.Client({ connectionString: url }) as { host: string; ssl: TlsOptions };
  if (!ssl) return { host, tls: 'off' };
  const isVerified = ssl === true || ssl.rejectUnauthorized !== false;
  return { host, tls: isVerified ? 'verified' : 'unverified' };
}
