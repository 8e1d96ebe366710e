import type { Service } from './service.ts';

interface SseEvent {
  event: string;
  id: string | undefined;
  data: Record<string, unknown>;
}

export interface Listener {
  status: number;
  headers: Headers;
  events: SseEvent[];
  /** Number of comment lines received. */
  heartbeats(): number;
  /** Resolves when the server has ended the stream. */
  ended: Promise<void>;
  close(): void;
}

/** Opens a live stream. */
export async function listen(
  { url, key }: Pick<Service, 'url' | 'key'>,
  path: string,
  headers: Record<string, string> = { authorization: `Bearer ${key}` },
): Promise<Listener> {
  const abort = new AbortController();
  const response = await fetch(`${url}${path}`, { headers, signal: abort.signal });
  const events: SseEvent[] = [];
  let heartbeats = 0;
  const read = async () => {
    let rest = '';
    for await (const chunk of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
      const blocks = (rest + chunk).split('\n\n');
      rest = blocks.pop() ?? '';
      for (const block of blocks) {
        if (block.startsWith(':')) heartbeats++;
        else events.push(parse(block));
      }
    }
  };
  return {
    status: response.status,
    headers: response.headers,
    events,
    heartbeats: () => heartbeats,
    ended: read().catch(() => {}),
    close: () => abort.abort(),
  };
}

function parse(block: string): SseEvent {
  const field = (name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
  return {
    event: field('event') ?? 'message',
    id: field('id'),
    data: JSON.parse(field('data') ?? '{}') as Record<string, unknown>,
  };
}
