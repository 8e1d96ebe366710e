import { jsonParts } from './json-parts.ts';

/** One client's stream of server-sent events. What it has not taken yet is bounded. */
export interface EventStream {
  readonly body: ReadableStream<Uint8Array>;
  /** Sends when there is room, and waits until there is. */
  send(event: ServerEvent): Promise<void>;
  /** Sends if there is room now, and says whether there was: for what will soon be out of date. */
  offer(event: ServerEvent): boolean;
  /** Something that no client shows, so that nobody between takes the silence for the end. */
  beat(): boolean;
  close(): void;
}

interface ServerEvent {
  event: string;
  data: unknown;
  id?: string | undefined;
  /** How long the client is to wait before it comes back, in milliseconds. */
  retry?: number;
}

/** Held for a client that does not read. Beyond it, signals wait in the database. */
const maxBytes = 256 * 1024;

export function openEventStream(onGone: () => void): EventStream {
  const encoder = new TextEncoder();
  let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  let roomMade = () => {};
  const end = () => {
    controller = undefined;
    roomMade();
  };
  const body = new ReadableStream<Uint8Array>(
    {
      start: (opened) => {
        controller = opened;
      },
      pull: () => roomMade(),
      cancel: () => {
        end();
        onGone();
      },
    },
    { highWaterMark: maxBytes, size: (chunk) => chunk.byteLength },
  );
  const hasRoom = () => (controller?.desiredSize ?? 0) > 0;
  const put = (text: string) => {
    if (!hasRoom()) return false;
    controller?.enqueue(encoder.encode(text));
    return true;
  };
  return {
    body,
    async send(event) {
      while (controller && !hasRoom())
        await new Promise<void>((resolve) => {
          roomMade = resolve;
        });
      put(format(event));
    },
    offer: (event) => put(format(event)),
    beat: () => put(':\n\n'),
    close() {
      controller?.close();
      end();
    },
  };
}

/** JSON has no line breaks of its own, so one data line is enough. A cursor is checked where it comes in. */
function format({ event, data, id, retry }: ServerEvent): string {
  const lines = [
    `event: ${event}`,
    ...(id === undefined ? [] : [`id: ${id.replaceAll(/[\r\n\0]/g, '')}`]),
    ...(retry === undefined ? [] : [`retry: ${retry}`]),
    `data: ${jsonParts(data).join('')}`,
  ];
  return `${lines.join('\n')}\n\n`;
}
