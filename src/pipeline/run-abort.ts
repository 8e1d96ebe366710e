/** Ends a run early: the connector reads `signal`, the engine uses `onAbort`. */
export class RunAbort {
  #controller: AbortController | undefined;
  #aborted: { reason: unknown } | undefined;
  #listener: ((reason: unknown) => void) | undefined;

  get isAborted(): boolean {
    return this.#aborted !== undefined;
  }

  /** On first use: costly beside a short run, and few connectors read it. */
  get signal(): AbortSignal {
    this.#controller ??= new AbortController();
    if (this.#aborted) this.#controller.abort(this.#aborted.reason);
    return this.#controller.signal;
  }

  /** The first reason counts. */
  abort(reason: unknown): void {
    if (this.#aborted) return;
    this.#aborted = { reason };
    this.#controller?.abort(reason);
    this.#listener?.(reason);
  }

  /** One listener, called immediately if already aborted. */
  onAbort(listener: (reason: unknown) => void): void {
    if (this.#aborted) listener(this.#aborted.reason);
    else this.#listener = listener;
  }
}
