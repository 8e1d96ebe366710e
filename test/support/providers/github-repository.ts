import { createHash } from 'node:crypto';

export type Item = Record<string, unknown> & { id: number };
export type Resource = 'issues' | 'pull_requests' | 'issue_comments' | 'review_comments' | 'releases';

export interface FakeCommit {
  sha: string;
  parents: string[];
  message: string;
  date: string;
}

/** Times are in whole seconds of the provider's clock. */
export interface FakeRepository {
  readonly id: number;
  name: string;
  readonly items: Record<Resource, Map<number, Item>>;
  /** All versions of all items: what a reader may have seen. */
  readonly versions: Record<Resource, Item[]>;
  readonly commits: Map<string, FakeCommit>;
  readonly heads: Map<string, string>;
  hasIssues: boolean;
  openIssue(fields?: Record<string, unknown>): Item;
  openPull(fields?: Record<string, unknown>): Item;
  comment(fields?: Record<string, unknown>): Item;
  reviewComment(fields?: Record<string, unknown>): Item;
  release(fields?: Record<string, unknown>): Item;
  /** Changes an item and its `updated_at`, if it has one. */
  edit(resource: Resource, id: number, fields: Record<string, unknown>): Item;
  remove(resource: Resource, id: number): void;
  /** Adds a commit to a branch; its parent is the head by default. */
  commit(fields?: { message?: string; date?: string; branch?: string; parents?: string[] }): string;
}

export function createRepository(id: number, name: string, now: () => string): FakeRepository {
  let lastNumber = 0;
  let lastId = id * 1_000_000;
  const byResource = <Value>(make: () => Value): Record<Resource, Value> => ({
    issues: make(),
    pull_requests: make(),
    issue_comments: make(),
    review_comments: make(),
    releases: make(),
  });

  function put(resource: Resource, item: Item): Item {
    repository.items[resource].set(item.id, item);
    repository.versions[resource].push(item);
    return item;
  }

  const dated = () => ({ id: ++lastId, created_at: now(), updated_at: now() });
  const urls = (kind: string, number: number) => `https://github.com/${repository.name}/${kind}/${number}`;
  const issueLike = (number: number, fields: Record<string, unknown>) => ({
    number,
    title: `Number ${number}`,
    body: null,
    state: 'open',
    user: { login: 'octocat', id: 1 },
    labels: [],
    assignees: [],
    milestone: null,
    locked: false,
    closed_at: null,
    ...fields,
  });

  const repository: FakeRepository = {
    id,
    name,
    items: byResource(() => new Map<number, Item>()),
    versions: byResource(() => [] as Item[]),
    commits: new Map(),
    heads: new Map(),
    hasIssues: true,
    openIssue: (fields = {}) => {
      const number = ++lastNumber;
      const html_url = urls('issues', number);
      return put('issues', {
        ...dated(),
        ...issueLike(number, { state_reason: null, comments: 0, html_url, ...fields }),
      });
    },
    openPull: (fields = {}) => {
      const number = ++lastNumber;
      return put('pull_requests', {
        ...dated(),
        ...issueLike(number, {
          draft: false,
          requested_reviewers: [],
          merged_at: null,
          head: { ref: `change-${number}`, sha: shaOf(`pull ${number}`) },
          base: { ref: 'main', sha: shaOf('main') },
          html_url: urls('pull', number),
          ...fields,
        }),
      });
    },
    comment: (fields = {}) =>
      put('issue_comments', {
        ...dated(),
        body: 'A comment',
        user: { login: 'hubot', id: 2 },
        html_url: urls('issues', 1),
        issue_url: `https://api.github.com/repos/${repository.name}/issues/1`,
        ...fields,
      }),
    reviewComment: (fields = {}) =>
      put('review_comments', {
        ...dated(),
        body: 'A remark',
        user: { login: 'hubot', id: 2 },
        html_url: urls('pull', 1),
        pull_request_url: `https://api.github.com/repos/${repository.name}/pulls/1`,
        pull_request_review_id: 7,
        path: 'src/index.ts',
        line: 3,
        original_line: 3,
        original_commit_id: shaOf('main'),
        commit_id: shaOf('main'),
        ...fields,
      }),
    release: (fields = {}) =>
      put('releases', {
        id: ++lastId,
        tag_name: `v${lastId}`,
        target_commitish: 'main',
        name: null,
        body: null,
        draft: false,
        prerelease: false,
        author: { login: 'octocat', id: 1 },
        html_url: urls('releases', lastId),
        created_at: now(),
        published_at: now(),
        assets: [],
        ...fields,
      }),
    edit: (resource, itemId, fields) => {
      const before = repository.items[resource].get(itemId);
      if (!before) throw new Error(`There is no ${resource} ${itemId}.`);
      const changed = 'updated_at' in before ? { updated_at: now() } : {};
      return put(resource, { ...before, ...changed, ...fields });
    },
    remove: (resource, itemId) => {
      repository.items[resource].delete(itemId);
    },
    commit: ({ message = 'A change', date = now(), branch = 'main', parents } = {}) => {
      const head = repository.heads.get(branch);
      const parentShas = parents ?? (head ? [head] : []);
      const sha = shaOf(`${repository.commits.size} ${message} ${parentShas}`);
      repository.commits.set(sha, { sha, parents: parentShas, message, date });
      repository.heads.set(branch, sha);
      return sha;
    },
  };
  return repository;
}

export function history({ commits }: FakeRepository, head: string | undefined): Map<string, FakeCommit> {
  const found = new Map<string, FakeCommit>();
  const next = head === undefined ? [] : [head];
  for (let sha = next.pop(); sha !== undefined; sha = next.pop()) {
    const commit = commits.get(sha);
    if (!commit || found.has(sha)) continue;
    found.set(sha, commit);
    next.push(...commit.parents);
  }
  return found;
}

const shaOf = (text: string) => createHash('sha1').update(text).digest('hex');
