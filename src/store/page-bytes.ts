import { maxPageBytes } from '../values/limits.ts';

export interface Listed {
  /** On this page or the next. */
  has_more: boolean;
}

export interface PageCut {
  /** Unbounded: JSON, and other writers' text. */
  columns: readonly string[];
  /** Over alias `p`. */
  order: string;
  /** Row limit plus one, the subquery's LIMIT. */
  above: `:${string}`;
  maxBytes?: `:${string}`;
}

/** Compressed size does not bound text size: up to 8 MB of stored rows are detoasted and measured. */
export function withinBytes(page: string, { columns, order, above, maxBytes }: PageCut): string {
  const byteLimit = maxBytes ?? String(maxPageBytes);
  const stored = columns.map((column) => `coalesce(pg_column_size(p.${column}), 0)`).join(' + ') || '0';
  const text = columns.map((column) => `coalesce(octet_length(p.${column}::text), 0)`).join(' + ') || '0';
  return `(SELECT * FROM (
    SELECT p.*, row_number() OVER page AS page_row, lead(true) OVER page IS NOT NULL AS has_more,
      sum(CASE WHEN p.stored_before <= ${byteLimit} THEN ${text} ELSE 0 END) OVER page AS page_bytes
    FROM (
      SELECT p.*, coalesce(sum(${stored}) OVER (
        ORDER BY ${order} ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS stored_before
      FROM (${page}) p) p
    WINDOW page AS (ORDER BY ${order})) p
   WHERE p.page_row < ${above}
     AND (p.page_row = 1 OR p.stored_before <= ${byteLimit} AND p.page_bytes <= ${byteLimit}))`;
}
