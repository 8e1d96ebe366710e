import { readdirSync } from 'node:fs';
import { expect, it } from 'vitest';
import { tablesOf } from '../../src/store/scope.ts';
import { statements } from '../../src/store/sql.ts';
import { kinds } from './statements.ts';

const folder = new URL('../../src/store/', import.meta.url);
const names = { schema: '"syncline"', tables: tablesOf('"syncline"') };

/** Sent by the session and the transaction, not by a statement of the store. */
const ofSessions = ['begin', 'read clock', 'open session', 'commit', 'rollback'];

it('simulation: every kind of statement is the first match of a statement of the store', async () => {
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  for (const file of files.filter((name) => name.endsWith('.ts'))) await import(new URL(file, folder).href);
  const texts = statements.map((statement) => statement.text(names));
  const matched = new Set(texts.map((text) => kinds.find(([, pattern]) => pattern.test(text))?.[0]));
  const stale = kinds
    .map(([name]) => name)
    .filter((name) => !matched.has(name) && !ofSessions.includes(name));
  expect(stale).toEqual([]);
});
