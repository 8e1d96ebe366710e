import type {
  Arguments,
  CallOptions,
  ItemOf,
  ListPath,
  Method,
  OptionsOf,
  PathWith,
  ResponseOf,
} from './operations.ts';
import { type ClientOptions, checkedOptions } from './options.ts';
import { type Call, send } from './request.ts';
import type { FeedSignal, Paths } from './schema.ts';

/** Of the feed; the client sets the rest. */
export type FeedQuery = Omit<NonNullable<Paths['/v1/signals/feed']['get']['query']>, 'wait'>;

/** Methods of the HTTP API by path, typed by the OpenAPI document. */
export interface Client {
  /** Reads a resource. */
  get<Path extends PathWith<'get'>>(
    path: Path,
    ...options: Arguments<OptionsOf<'get', Path>>
  ): Promise<ResponseOf<'get', Path>>;
  /** Creates a resource or starts an action. */
  post<Path extends PathWith<'post'>>(
    path: Path,
    ...options: Arguments<OptionsOf<'post', Path>>
  ): Promise<ResponseOf<'post', Path>>;
  /** Sets a resource. */
  put<Path extends PathWith<'put'>>(
    path: Path,
    ...options: Arguments<OptionsOf<'put', Path>>
  ): Promise<ResponseOf<'put', Path>>;
  /** Changes fields of a resource. */
  patch<Path extends PathWith<'patch'>>(
    path: Path,
    ...options: Arguments<OptionsOf<'patch', Path>>
  ): Promise<ResponseOf<'patch', Path>>;
  /** Deletes a resource. */
  delete<Path extends PathWith<'delete'>>(
    path: Path,
    ...options: Arguments<OptionsOf<'delete', Path>>
  ): Promise<ResponseOf<'delete', Path>>;

  /** The pages of a list, from `query.cursor` to the last one. */
  pages<Path extends ListPath>(
    path: Path,
    ...options: Arguments<OptionsOf<'get', Path>>
  ): AsyncGenerator<ResponseOf<'get', Path>>;

  /** The items of all pages. */
  items<Path extends ListPath>(
    path: Path,
    ...options: Arguments<OptionsOf<'get', Path>>
  ): AsyncGenerator<ItemOf<Path>>;

  /**
   * In commit order until the loop is left or `signal` aborts. A consumer's position is stored when the
   * signals of a page have been processed: a crash repeats at most that page.
   */
  feed(query?: FeedQuery, options?: CallOptions): AsyncGenerator<FeedSignal>;
}

/** A client of the HTTP API. Failed requests throw `SynclineHttpError`. */
export function createClient(options: ClientOptions): Client {
  const checked = checkedOptions(options);
  const request = (method: string, template: string, call: Omit<Call, 'method' | 'template'> = {}) =>
    send(checked, { ...call, method, template });
  const caller = (method: Method) => (template: string, call?: object) =>
    request(method.toUpperCase(), template, call);

  async function* pages(template: string, call: Call = { method: 'GET', template }) {
    let cursor: string | null | undefined;
    do {
      const query = { ...call.query, ...(cursor !== undefined && { cursor }) };
      const page = (await request('GET', template, { ...call, query })) as ListPage;
      yield page;
      cursor = page.next_cursor;
    } while (cursor !== null);
  }

  async function* items(template: string, call?: Call) {
    for await (const page of pages(template, call)) yield* page.items;
  }

  async function* feed(query: FeedQuery = {}, { signal }: CallOptions = {}) {
    let { after } = query;
    try {
      while (!signal?.aborted) {
        const page = (await request('GET', '/v1/signals/feed', {
          query: { ...query, after, wait: maxWaitSeconds },
          signal,
        })) as Paths['/v1/signals/feed']['get']['response'];
        yield* page.items;
        if (query.consumer !== undefined && page.next_cursor !== after)
          await request('PUT', '/v1/consumers/{name}', {
            path: { name: query.consumer },
            body: { after: page.next_cursor },
            signal,
          });
        after = page.next_cursor;
      }
    } catch (error) {
      if (!signal?.aborted) throw error;
    }
  }

  const methods = { get: caller('get'), post: caller('post'), put: caller('put'), patch: caller('patch') };
  return { ...methods, delete: caller('delete'), pages, items, feed } as unknown as Client;
}

interface ListPage {
  items: unknown[];
  next_cursor: string | null;
}

const maxWaitSeconds = 30;
