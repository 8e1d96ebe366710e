import { compareLookup } from '../store/health/lookup.ts';
import { type Check, error, formatCount, formatList, idList, warning } from './check.ts';

export const lookupCheck: Check = {
  name: 'connection_lookup',
  group: 'work',
  run: async ({ tx }) => {
    const difference = await compareLookup(tx);
    if (!difference) return { detail: 'not in this schema version', findings: [] };
    const { unlisted, orphaned } = difference;
    const findings = [];
    if (unlisted.length > 0)
      findings.push(
        error(
          `${formatCount(unlisted.length, 'connection has', 'connections have')} a missing or different row in ` +
            `connection_lookup, so lists and searches do not find it: ${formatList(unlisted)}.`,
          'INSERT INTO connection_lookup SELECT id, tenant_id, external_id FROM connections WHERE id IN ' +
            `(${idList(unlisted)}) ON CONFLICT (connection_id) DO UPDATE SET tenant_id = excluded.tenant_id, ` +
            'external_id = excluded.external_id;',
        ),
      );
    if (orphaned.length > 0)
      findings.push(
        warning(
          `${formatCount(orphaned.length, 'row', 'rows')} of connection_lookup without a connection: ` +
            `${formatList(orphaned)}. The connection was deleted with triggers disabled.`,
          `DELETE FROM connection_lookup WHERE connection_id IN (${idList(orphaned)});`,
        ),
      );
    return { findings };
  },
};
