import { readdirSync, readFileSync } from 'node:fs';

export interface Migration {
  version: number;
  name: string;
  sql: string;
  /** For CREATE INDEX CONCURRENTLY: each command runs alone, again after an interruption. */
  withoutTransaction?: boolean;
}

const withoutTransaction = /^-- No transaction\b/;

const folder = new URL('../store/migrations/', import.meta.url);

export const migrations: readonly Migration[] = readdirSync(folder)
  .filter((file) => /^\d{4}_\w+\.sql$/.test(file))
  .sort()
  .map((file) => {
    const sql = readFileSync(new URL(file, folder), 'utf8');
    return {
      version: Number(file.slice(0, 4)),
      name: file.replace('.sql', ''),
      sql,
      ...(withoutTransaction.test(sql) && { withoutTransaction: true }),
    };
  });
