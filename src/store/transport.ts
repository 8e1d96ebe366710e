import pg from 'pg';

export interface Transport {
  /** Name, address or socket folder. */
  host: string;
  tls: 'off' | 'unverified' | 'verified';
}

/** @types/pg declares only the flag. */
type TlsOptions = boolean | { rejectUnauthorized?: boolean };

/** As the driver connects, with PGHOST and PGSSLMODE. */
export function transportOf(url: string | undefined): Transport {
  const { host, ssl } = new pg.Client({ connectionString: url }) as { host: string; ssl: TlsOptions };
  if (!ssl) return { host, tls: 'off' };
  const isVerified = ssl === true || ssl.rejectUnauthorized !== false;
  return { host, tls: isVerified ? 'verified' : 'unverified' };
}
