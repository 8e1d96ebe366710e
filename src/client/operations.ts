import type { Paths } from './schema.ts';

export type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

export type PathWith<M extends Method> = {
  [Path in keyof Paths]: M extends keyof Paths[Path] ? Path : never;
}[keyof Paths];

type Operation<M extends Method, Path extends keyof Paths> = M extends keyof Paths[Path]
  ? Paths[Path][M]
  : never;

export type ResponseOf<M extends Method, Path extends keyof Paths> =
  Operation<M, Path> extends { response: infer Response } ? Response : never;

/** Options of any request. */
export interface CallOptions {
  /** Aborts the request and its retries. */
  signal?: AbortSignal | undefined;
}

export type OptionsOf<M extends Method, Path extends keyof Paths> = Omit<Operation<M, Path>, 'response'> &
  CallOptions;

/** Optional if nothing is required. */
export type Arguments<Options> =
  Record<never, never> extends Options ? [options?: Options] : [options: Options];

/** Paths that return a page and the next cursor. */
export type ListPath = {
  [Path in PathWith<'get'>]: ResponseOf<'get', Path> extends { items: unknown[]; next_cursor: string | null }
    ? null extends ResponseOf<'get', Path>['next_cursor']
      ? Path
      : never
    : never;
}[PathWith<'get'>];

export type ItemOf<Path extends ListPath> =
  ResponseOf<'get', Path> extends { items: (infer Item)[] } ? Item : never;
