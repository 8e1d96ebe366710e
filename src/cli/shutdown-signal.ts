import { systemPorts } from '../platform/ports.ts';

/** One Ctrl-C can arrive twice, from the terminal and from npm; a person who presses it again is slower than this. */
const sameSignalMs = 1000;

/** SCH-9: the first signal asks for an orderly end; a later one does not wait for it. */
export function shutdownSignal(): Promise<string> {
  return new Promise((resolve) => {
    let heardMs: number | undefined;
    const hear = (name: string) => {
      const nowMs = systemPorts.monotonicMs();
      heardMs ??= nowMs;
      if (nowMs - heardMs > sameSignalMs) process.exit(1);
      resolve(`received ${name}`);
    };
    process.on('SIGINT', hear);
    process.on('SIGTERM', hear);
  });
}

/** Aborts on the first SIGINT or SIGTERM. */
export function abortOnShutdownSignal(): AbortSignal {
  const stopping = new AbortController();
  void shutdownSignal().then(() => stopping.abort());
  return stopping.signal;
}
