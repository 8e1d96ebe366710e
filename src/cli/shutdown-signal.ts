import { systemPorts } from '../platform/ports.ts';
import { terminal } from './terminal.ts';

/** npm may repeat the terminal's Ctrl-C. */
const duplicateWindowMs = 1000;

/** SCH-9: the second signal exits immediately. */
export function shutdownSignal(): Promise<string> {
  const { signals } = terminal();
  return new Promise((resolve) => {
    let firstMs: number | undefined;
    const onSignal = (name: string) => {
      const nowMs = systemPorts.monotonicMs();
      firstMs ??= nowMs;
      if (nowMs - firstMs > duplicateWindowMs) process.exit(1);
      resolve(`received ${name}`);
    };
    signals.on('SIGINT', onSignal);
    signals.on('SIGTERM', onSignal);
  });
}

export function abortOnShutdownSignal(): AbortSignal {
  const stopping = new AbortController();
  void shutdownSignal().then(() => stopping.abort());
  return stopping.signal;
}
