import pg from 'pg';
import { indent } from '../tools/report.ts';

export interface Statement {
  text: string;
  values: unknown[];
  /** How its transaction began: that sets what the planner may do. */
  begin: string;
}

/** Runs `work` and returns the statements that it sent with values: of each the first, as it was sent. */
export async function captureStatements(work: () => Promise<void>): Promise<Statement[]> {
  const first = new Map<string, Statement>();
  const prototype = pg.Client.prototype as { query: (...args: unknown[]) => unknown };
  const original = prototype.query;
  let begin = 'BEGIN';
  prototype.query = function (...args) {
    const [text, values] = args;
    if (typeof text === 'string' && text.startsWith('BEGIN')) begin = text;
    if (typeof text === 'string' && Array.isArray(values) && !first.has(text))
      first.set(text, { text, values, begin });
    return original.apply(this, args);
  };
  try {
    await work();
  } finally {
    prototype.query = original;
  }
  return [...first.values()];
}

/** Runs the statements once more, in their order, to see how; then takes everything back. */
export async function explain(client: pg.Client, statements: Statement[]): Promise<string> {
  const plans: string[] = [];
  await client.query(statements[0]?.begin ?? 'BEGIN');
  for (const { text, values } of statements) {
    const { rows } = await client.query<{ 'QUERY PLAN': string }>(
      `EXPLAIN (ANALYZE, BUFFERS) ${text}`,
      values,
    );
    plans.push([`-- ${text.replaceAll(/\s+/g, ' ')}`, ...rows.map((row) => row['QUERY PLAN'])].join('\n'));
  }
  await client.query('ROLLBACK');
  return indent(plans.join('\n\n'));
}
