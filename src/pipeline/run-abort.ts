/** Ends one run early: the connector reads `signal`, the engine stops waiting in `onAbort`. */
export class RunAbort {
  #controller: AbortController | undefined;
  #aborted: { reason: unknown } | undefined;
  #listener: ((reason: unknown) => void) | undefined;

  get isAborted(): boolean {
    return this.#aborted !== undefined;
  }

  /** Created on first use: a controller is expensive beside a short run, and not every connector reads it. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#aborted) this.#controller.abort(this.#aborted.reason);
    return this.#controller.signal;
  }

  /** Only the first reason counts, as in AbortController. */
  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = { reason };
    this.#controller?.abort(reason);
    this.#listener?.(reason);
  }

  /** Holds one listener. Calls it immediately if the run is already aborted. */
  onAbort(listener: (reason: unknown) => void): void {
    if (this.#aborted) listener(this.#aborted.reason);
    else this.#listener = listener;
  }
}
