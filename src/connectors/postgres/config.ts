import { z } from 'zod';

const name = z.string().min(1).max(63);

export const configSchema = z
  .strictObject({
    host: z
      .string()
      .min(1)
      .max(253)
      .regex(/^[^/\s]+$/, 'must be a host name or an address'),
    port: z.int().min(1).max(65_535).default(5432),
    database: z.string().min(1).max(63),
    /** Default: the user of the credential. */
    user: z.string().min(1).optional(),
    /** `no-verify` encrypts without checking certificate and host name. */
    ssl: z.enum(['verify', 'no-verify', 'off']).default('verify'),
    /** CA certificate in PEM, if not publicly trusted. */
    ca: z.string().max(100_000).optional(),
    /** `table` is in `public`; an object for names with a dot. */
    table: z.union([z.string().min(1).max(127), z.strictObject({ schema: name.default('public'), name })]),
    cursorColumn: name,
    keyColumns: z.array(name).min(1).max(16),
    /** Columns in the payload. Default: all. */
    columns: z.array(name).min(1).max(1600).optional(),
    kind: z.string().min(1).max(200).optional(),
    /** For time columns: how late rows may become visible. 0: no rereading. */
    lookbackSeconds: z.int().min(0).max(604_800).optional(),
    /** For other columns: rows to reread before the watermark. */
    lookbackRows: z.int().min(0).max(1_000_000).optional(),
    pageSize: z.int().min(1).max(10_000).default(1000),
  })
  .refine(({ keyColumns }) => new Set(keyColumns).size === keyColumns.length, {
    path: ['keyColumns'],
    message: 'must not name a column twice',
  });

export type TableConfig = z.output<typeof configSchema>;

export interface TableName {
  schema: string;
  name: string;
}

export function tableNameOf(table: TableConfig['table']): TableName {
  if (typeof table !== 'string') return table;
  const dot = table.indexOf('.');
  return dot === -1
    ? { schema: 'public', name: table }
    : { schema: table.slice(0, dot), name: table.slice(dot + 1) };
}

export const shownName = ({ schema, name: own }: TableName) => `${schema}.${own}`;
