import { jsonParts } from '../values/stored-json.ts';

/** Server-sent events with a bounded buffer. */
export interface EventStream {
  readonly body: ReadableStream<Uint8Array>;
  send(event: ServerEvent): Promise<void>;
  /** False: the buffer was full, the event is lost. */
  trySend(event: ServerEvent): boolean;
  /** Proxies close idle connections. */
  heartbeat(): boolean;
  close(): void;
}

interface ServerEvent {
  event: string;
  data: unknown;
  id?: string | undefined;
  retry?: number;
}

/** Per client; more stays in the database. */
export const streamBufferBytes = 256 * 1024;

export function openEventStream(onDisconnect: () => void): EventStream {
  const encoder = new TextEncoder();
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let wakeSender = () => {};
  const end = () => {
    controller = undefined;
    wakeSender();
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start: (opened) => {
        controller = opened;
      },
      pull: () => wakeSender(),
      cancel: () => {
        end();
        onDisconnect();
      },
    },
    { highWaterMark: streamBufferBytes, size: (chunk) => chunk.byteLength },
  );
  const hasSpace = () => (controller?.desiredSize ?? 0) > 0;
  const tryEnqueue = (text: string) => {
    if (!hasSpace()) return false;
    controller?.enqueue(encoder.encode(text));
    return true;
  };
  return {
    body,
    async send(event) {
      while (controller && !hasSpace())
        await new Promise<void>((resolve) => {
          wakeSender = resolve;
        });
      tryEnqueue(format(event));
    },
    trySend: (event) => tryEnqueue(format(event)),
    heartbeat: () => tryEnqueue(':\n\n'),
    close() {
      controller?.close();
      end();
    },
  };
}

/** JSON has no line breaks. */
function format({ event, data, id, retry }: ServerEvent): string {
  const lines = [
    `event: ${event}`,
    ...(id === undefined ? [] : [`id: ${id.replaceAll(/[\r\n\0]/g, '')}`]),
    ...(retry === undefined ? [] : [`retry: ${retry}`]),
    `data: ${jsonParts(data).join('')}`,
  ];
  return `${lines.join('\n')}\n\n`;
}
