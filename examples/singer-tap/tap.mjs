/**
 * A Singer tap: a program that writes SCHEMA, RECORD and STATE messages to standard output, one per line.
 * Usage: node tap.mjs --config config.json [--state state.json]
 */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';

const { values } = parseArgs({ options: { config: { type: 'string' }, state: { type: 'string' } } });
const read = (file) => (file ? JSON.parse(readFileSync(file, 'utf8')) : {});
const { invoices } = read(values.config);
const { last = 0 } = read(values.state);
const write = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);

write({ type: 'SCHEMA', stream: 'invoices', schema: {}, key_properties: ['id'] });
for (let id = last + 1; id <= invoices; id++) {
  write({ type: 'RECORD', stream: 'invoices', record: { id, total: id * 100 } });
  // Covers all records before it. Syncline commits both in one transaction.
  write({ type: 'STATE', value: { last: id } });
}
