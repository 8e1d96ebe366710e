import type { Connector } from '../../contract/connector.ts';
import { parseTruncated } from '../../schedule/sync-metadata.ts';
import type { LockedConnection } from '../../store/connections.ts';
import { parseInstant } from '../../values/instant.ts';

export const needsCredential = (connector: Connector | undefined): boolean =>
  connector?.oauth2 !== undefined && !connector.oauth2.optional;

/** Never active and without a credential: a run could only fail. */
export const waitsForConsent = (row: LockedConnection, connector: Connector | undefined): boolean =>
  needsCredential(connector) &&
  row.credential_id === null &&
  row.last_incremental_ended_at === null &&
  parseInstant(parseTruncated(row.first_activated_at)) === undefined;
