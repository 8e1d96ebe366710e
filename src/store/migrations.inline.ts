import { readdirSync, readFileSync } from 'node:fs';

export interface Migration {
  version: number;
  name: string;
  sql: string;
}

const folder = new URL('../store/migrations/', import.meta.url);

/** In order. */
export const migrations: readonly Migration[] = readdirSync(folder)
  .filter((file) => /^\d{4}_\w+\.sql$/.test(file))
  .sort()
  .map((file) => ({
    version: Number(file.slice(0, 4)),
    name: file.replace('.sql', ''),
    sql: readFileSync(new URL(file, folder), 'utf8'),
  }));
