import type { StandardSchemaV1 } from '@standard-schema/spec';
import { PermanentError } from '../contract/errors.ts';
import { parseAnswer } from '../values/parse-answer.ts';
import { check } from '../values/standard-schema.ts';

/** The text of an answer: refused where it is longer than `maxBytes`, and of what is merely looked at no more than `cutAt`. */
export async function readText(response: Response, maxBytes: number, cutAt?: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (cutAt !== undefined && bytes > cutAt) break;
    if (bytes > maxBytes)
      throw new PermanentError(`The answer is larger than ${maxBytes} bytes; ask for smaller pages.`);
  }
  const body = Buffer.concat(chunks);
  return new TextDecoder(charsetOf(response, body)).decode(body);
}

/** JSON of the expected form. */
export async function parseBody(text: string, schema: StandardSchemaV1, request: string): Promise<unknown> {
  const { value, problem } = await check(schema, parseAnswer(text, request));
  if (problem) throw new PermanentError(`${request}: the answer is not what was expected: ${problem}`);
  return value;
}

/** As the bytes themselves say, or the headers, or the declaration of an XML document; else UTF-8. */
function charsetOf(response: Response, body: Buffer): string {
  const declared = /^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([\w-]+)/i.exec(
    body.toString('latin1', 0, 200),
  )?.[1];
  const said = /charset\s*=\s*["']?([\w-]+)/i.exec(response.headers.get('content-type') ?? '')?.[1];
  try {
    return new TextDecoder(markOf(body) ?? said ?? declared ?? 'utf-8').encoding;
  } catch {
    return 'utf-8';
  }
}

/** The mark that texts of two bytes per character begin with. */
function markOf(body: Buffer): string | undefined {
  const mark = body.toString('hex', 0, 2);
  return mark === 'fffe' ? 'utf-16le' : mark === 'feff' ? 'utf-16be' : undefined;
}
