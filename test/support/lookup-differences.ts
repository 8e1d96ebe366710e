import type { TestDatabase } from './database.ts';

/** Rows of connections or connection_lookup without an equal row in the other. */
export const lookupDifferences = ({ sql }: Pick<TestDatabase, 'sql'>, schema = 'syncline') =>
  sql(
    `SELECT * FROM (SELECT id, tenant_id, external_id FROM ${schema}.connections) c
     FULL JOIN ${schema}.connection_lookup l ON l.connection_id = c.id
       AND l.tenant_id = c.tenant_id AND l.external_id IS NOT DISTINCT FROM c.external_id
     WHERE c.id IS NULL OR l.connection_id IS NULL`,
  );
