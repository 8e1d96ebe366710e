/** What one page may hold of stored text and JSON. A row that is larger makes a page of its own. */
export const maxPageBytes = 8 * 1024 * 1024;

/** A row of a page that was cut. */
export interface Listed {
  /** Whether the list goes on behind this row: on this page, or on the next one. */
  followed: boolean;
}

export interface PageCut {
  /** Columns that can be large: JSON, and text that other writers can fill. */
  columns: readonly string[];
  /** The order of the page, over `p`. */
  order: string;
  /** The parameter that is one more than the page may hold in rows; the subquery has it as its LIMIT. */
  above: `$${number}`;
  /** A parameter with a smaller bound in bytes. */
  maxBytes?: `$${number}`;
}

/**
 * The first rows of a subquery that fit into a page, by rows and by bytes; Postgres does not send the others. What is compressed
 * says nothing of the size as text, so rows are read to be measured, but none behind the first 8 MB as they are stored.
 */
export function withinBytes(page: string, { columns, order, above, maxBytes }: PageCut): string {
  const most = maxBytes ?? String(maxPageBytes);
  const stored = columns.map((column) => `coalesce(pg_column_size(p.${column}), 0)`).join(' + ') || '0';
  const text = columns.map((column) => `coalesce(octet_length(p.${column}::text), 0)`).join(' + ') || '0';
  return `(SELECT * FROM (
    SELECT p.*, row_number() OVER page AS page_row, lead(true) OVER page IS NOT NULL AS followed,
      sum(CASE WHEN p.stored_before <= ${most} THEN ${text} ELSE 0 END) OVER page AS page_bytes
    FROM (
      SELECT p.*, coalesce(sum(${stored}) OVER (ORDER BY ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS stored_before
      FROM (${page}) p) p
    WINDOW page AS (ORDER BY ${order})) p
   WHERE p.page_row < ${above} AND (p.page_row = 1 OR p.stored_before <= ${most} AND p.page_bytes <= ${most}))`;
}

/** What a row shows of a name in another table, in characters: no bound in bytes counts it. Names that the API takes are shorter. */
export const maxNameLength = 500;
