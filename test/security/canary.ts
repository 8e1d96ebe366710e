import { randomBytes } from 'node:crypto';

/** A secret that is planted somewhere, to be looked for everywhere. */
export interface Canary {
  name: string;
  /** As it is planted. */
  secret: string;
  /** What gives it away, whatever is around it and however it is cut. */
  traces: readonly Trace[];
}

interface Trace {
  form: string;
  text: string;
}

/** Characters that JSON, URLs and HTML each write in another way, so that a search for the secret as it is would miss it. */
const awkward = `"+/=&%<\\`;
/** Half a secret is a leak, too. */
const tellingLength = 12;

/** One of our own making. Its first letters tell that it is one, the rest which. */
export function canary(name: string, { tail = awkward } = {}): Canary {
  const core = `cnry${randomBytes(12).toString('hex')}`;
  return { name, secret: `${core}${tail}`, traces: tracesOf(core) };
}

/** One that is made otherwise, by the engine for example. How such a one begins may be shown, so its end is looked for. */
export function madeCanary(name: string, secret: string): Canary {
  if (secret.length < 2 * tellingLength) throw new Error(`There is no secret "${name}".`);
  return { name, secret, traces: tracesOf(secret.replace(/=+$/, '').slice(-tellingLength)) };
}

function tracesOf(text: string): Trace[] {
  const core = text.slice(0, tellingLength);
  return [
    { form: 'as it is', text: core },
    { form: 'hex', text: Buffer.from(core).toString('hex') },
    ...[0, 1, 2].map((offset) => ({ form: `base64, ${offset} bytes in`, text: withinBase64(core, offset) })),
  ];
}

/** How a text looks within base64, so many bytes after the beginning: without the characters that share bits with what is around it. */
function withinBase64(text: string, offset: number): string {
  const encoded = Buffer.concat([Buffer.alloc(offset), Buffer.from(text)]).toString('base64');
  const whole = Math.floor(((offset + Buffer.byteLength(text)) * 8) / 6);
  return encoded.slice(Math.ceil((offset * 8) / 6), whole);
}

/** Some text that somebody may read, and what it is. */
export interface Output {
  from: string;
  text: string;
}

export interface Leak {
  canary: string;
  form: string;
  from: string;
  /** Around it. */
  excerpt: string;
}

/** Every canary in every output, in whatever form. Letters of base64 in URLs are the same as in usual base64. */
export function leaksIn(outputs: readonly Output[], canaries: readonly Canary[]): Leak[] {
  return outputs.flatMap(({ from, text }) => {
    const readable = text.replaceAll('-', '+').replaceAll('_', '/').toLowerCase();
    return canaries.flatMap(({ name, traces }) =>
      traces.flatMap((trace) => {
        const wanted = trace.text.replaceAll('-', '+').replaceAll('_', '/').toLowerCase();
        const at = readable.indexOf(wanted);
        if (at === -1) return [];
        const excerpt = text.slice(Math.max(0, at - 120), at + 60);
        return [{ canary: name, form: trace.form, from, excerpt }];
      }),
    );
  });
}
