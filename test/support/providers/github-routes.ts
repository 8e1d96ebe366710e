import { type FakeCommit, type FakeRepository, history, type Item } from './github-repository.ts';

/** A response as documented, before authentication, rate limits and headers. */
export interface Reply {
  status: number;
  body: unknown;
  /** The whole list, which the caller paginates. */
  pages?: { items: readonly unknown[]; show(page: readonly unknown[], number: number): unknown };
}

const notFound: Reply = { status: 404, body: { message: 'Not Found' } };
const page = (items: readonly unknown[], show = (shown: readonly unknown[]): unknown => shown): Reply => ({
  status: 200,
  body: undefined,
  pages: { items, show },
});

export function replyOf(
  repository: FakeRepository,
  path: string,
  query: URLSearchParams,
  accept: string,
): Reply {
  const { items, hasIssues } = repository;
  const commit = /^commits\/(.+)$/.exec(path)?.[1];
  const compared = /^compare\/([0-9a-f]{40})\.\.\.([0-9a-f]{40})$/.exec(path);
  if (commit !== undefined) return oneCommit(repository, decodeURIComponent(commit), accept);
  if (compared) return comparison(repository, compared[1] ?? '', compared[2] ?? '');
  switch (path) {
    case 'issues':
      if (!hasIssues) return { status: 410, body: { message: 'Issues are disabled for this repo' } };
      return page(updated([...items.issues.values(), ...pullsAsIssues(repository)], query, true));
    case 'pulls':
      return page(updated([...items.pull_requests.values()], query, false));
    case 'issues/comments':
      return page(updated([...items.issue_comments.values()], query, true));
    case 'pulls/comments':
      return page(updated([...items.review_comments.values()], query, true));
    case 'releases':
      return page([...items.releases.values()].sort(by('created_at')).reverse());
    case 'commits':
      return commitList(repository, query);
    default:
      return notFound;
  }
}

/** Every pull request is also an issue, with another id. */
function pullsAsIssues({ items }: FakeRepository): Item[] {
  return [...items.pull_requests.values()].map(({ head: _, base: __, merged_at, ...pull }) => ({
    ...pull,
    id: pull.id + 500_000,
    comments: 0,
    pull_request: { url: `https://api.github.com/pulls/${pull['number']}`, merged_at },
  }));
}

/** All times have the same format, so they sort as text. */
const by = (property: string) => (a: Item, b: Item) =>
  a[property] === b[property] ? a.id - b.id : String(a[property]) < String(b[property]) ? -1 : 1;

/** Default: open items by creation, newest first. */
function updated(all: Item[], query: URLSearchParams, takesSince: boolean): Item[] {
  const state = query.get('state') ?? 'open';
  const since = takesSince ? sinceOf(query) : '';
  const sorted = all
    .filter((item) => !('state' in item) || state === 'all' || item['state'] === state)
    .filter(({ updated_at }) => String(updated_at) >= since)
    .sort(by(query.get('sort') === 'updated' ? 'updated_at' : 'created_at'));
  return query.get('direction') === 'asc' ? sorted : sorted.reverse();
}

/** In the format of the items, so that they compare as text. */
function sinceOf(query: URLSearchParams): string {
  const since = query.get('since');
  return since === null ? '' : `${new Date(since).toISOString().slice(0, 19)}Z`;
}

function shown(repository: FakeRepository, { sha, parents, message, date }: FakeCommit) {
  const person = { name: 'Mona', email: 'mona@example.com', date };
  return {
    sha,
    html_url: `https://github.com/${repository.name}/commit/${sha}`,
    commit: { message, author: person, committer: person },
    author: { login: 'octocat' },
    committer: {},
    parents: parents.map((parent) => ({ sha: parent })),
  };
}

const newestFirst = (a: FakeCommit, b: FakeCommit) =>
  Date.parse(b.date) - Date.parse(a.date) || b.sha.localeCompare(a.sha);

function headOf({ heads, commits }: FakeRepository, reference: string): string | undefined {
  if (commits.has(reference)) return reference;
  return heads.get(reference === 'HEAD' ? 'main' : reference.replace(/^heads\//, ''));
}

const empty: Reply = { status: 409, body: { message: 'Git Repository is empty.' } };

function oneCommit(repository: FakeRepository, reference: string, accept: string): Reply {
  if (repository.commits.size === 0) return empty;
  const sha = headOf(repository, reference);
  if (!sha) return { status: 422, body: { message: `No commit found for SHA: ${reference}` } };
  return { status: 200, body: accept.includes('vnd.github.sha') ? sha : { sha } };
}

function commitList(repository: FakeRepository, query: URLSearchParams): Reply {
  if (repository.commits.size === 0) return empty;
  const head = headOf(repository, query.get('sha') ?? 'HEAD');
  if (!head) return notFound;
  const since = Date.parse(query.get('since') ?? '1970-01-01T00:00:00Z');
  const commits = [...history(repository, head).values()].filter(({ date }) => Date.parse(date) >= since);
  return page(commits.sort(newestFirst).map((commit) => shown(repository, commit)));
}

/** Commits of the head that the base does not have, oldest first. */
function comparison(repository: FakeRepository, base: string, head: string): Reply {
  const baseCommits = history(repository, base);
  const headCommits = history(repository, head);
  if (baseCommits.size === 0 || headCommits.size === 0) return notFound;
  if (![...baseCommits.keys()].some((sha) => headCommits.has(sha)))
    return { status: 404, body: { message: `No common ancestor between ${base} and ${head}.` } };
  const added = [...headCommits.values()]
    .filter(({ sha }) => !baseCommits.has(sha))
    .sort((a, b) => newestFirst(b, a));
  return page(
    added.map((commit) => shown(repository, commit)),
    (commits) => ({ total_commits: added.length, commits }),
  );
}
