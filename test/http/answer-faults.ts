import type { Answer } from './wire.ts';

/** Stack traces, SQL, Postgres messages, file paths and class names must not appear in an error response. */
const internals = [
  /\n\s+at /,
  /node_modules|node:internal/,
  /\.[cm]?[jt]sx?:\d+/,
  /\b(select|insert into|update|delete from)\b.+\b(from|set|values|where)\b/i,
  /\bsyncline\.\w+/,
  /invalid input syntax|violates|duplicate key|out of range|malformed array|invalid byte/i,
  /\/(home|root|tmp|usr|var|work)\//,
  /\b(Type|Syntax|Range|Database|Zod|Syncline|Reference)Error\b/,
];

/** Returns everything that is wrong with a response, for any request. */
export function faultsOf(method: string, answer: Answer, secrets: Iterable<string>): string[] {
  const { status, headers, text } = answer;
  const faults: string[] = [];
  if (!(status >= 200) || status >= 500) faults.push('unexpected status');
  const { 'set-cookie': _, ...others } = headers;
  const exposed = `${JSON.stringify(others)} ${text}`;
  for (const secret of secrets)
    if (secret !== '' && exposed.includes(secret)) faults.push('contains a secret');
  if (status >= 400) {
    if (headers['content-type']?.startsWith('text/html')) faults.push(...pageFaults(text));
    else if (headers['content-type'] !== 'application/problem+json') faults.push('no problem document');
    else if (method !== 'HEAD') faults.push(...problemFaults(status, text));
    if (internals.some((pattern) => pattern.test(text))) faults.push('contains internals');
  }
  return faults.map((fault) => `${fault}: ${status} ${text.slice(0, 400)}`);
}

/** HTML is allowed only from the login and consent callback, which people open from links. */
function pageFaults(text: string): string[] {
  const isErrorPage = /<h1>Not (logged in|connected)<\/h1>/.test(text);
  return isErrorPage && !/<script|javascript:|\son\w+\s*=/i.test(text)
    ? []
    : ['a page instead of a problem document'];
}

function problemFaults(status: number, text: string): string[] {
  let body: Record<string, unknown>;
  try {
    body = JSON.parse(text) as Record<string, unknown>;
  } catch {
    return ['a problem document that is not JSON'];
  }
  const missing = ['type', 'title', 'detail', 'code'].filter(
    (name) => typeof body[name] !== 'string' || body[name] === '',
  );
  return [
    ...missing.map((name) => `a problem without ${name}`),
    ...(body['status'] === status ? [] : ['a problem with another status']),
  ];
}
