import type { StandardSchemaV1 } from '@standard-schema/spec';
import { PermanentError } from '../contract/errors.ts';
import { parseAnswer } from '../values/parse-answer.ts';
import { check } from '../values/standard-schema.ts';

/** Throws above `maxBytes`; stops reading after `truncateAt`. */
export async function readText(response: Response, maxBytes: number, truncateAt?: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (truncateAt !== undefined && bytes > truncateAt) break;
    if (bytes > maxBytes)
      throw new PermanentError(`The response is larger than ${maxBytes} bytes; request smaller pages.`);
  }
  const body = Buffer.concat(chunks);
  return new TextDecoder(charsetOf(response, body)).decode(body);
}

export async function parseBody(text: string, schema: StandardSchemaV1, request: string): Promise<unknown> {
  const { value, problem } = await check(schema, parseAnswer(text, request));
  if (problem) throw new PermanentError(`${request}: unexpected response body: ${problem}`);
  return value;
}

/** Byte order mark, Content-Type, XML declaration, UTF-8. */
function charsetOf(response: Response, body: Buffer): string {
  const fromXml = /^\s*<\?xml[^>]*?\sencoding\s*=\s*["']([\w-]+)/i.exec(body.toString('latin1', 0, 200))?.[1];
  const fromHeader = /charset\s*=\s*["']?([\w-]+)/i.exec(response.headers.get('content-type') ?? '')?.[1];
  try {
    return new TextDecoder(bomEncoding(body) ?? fromHeader ?? fromXml ?? 'utf-8').encoding;
  } catch {
    return 'utf-8';
  }
}

function bomEncoding(body: Buffer): string | undefined {
  const bom = body.toString('hex', 0, 2);
  return bom === 'fffe' ? 'utf-16le' : bom === 'feff' ? 'utf-16be' : undefined;
}
