import { type Signal, versionKey } from '../../connector-kit/index.ts';
import type { Commit, Issue, IssueComment, PullRequest, Release, ReviewComment } from './shapes.ts';
import type { GithubSignal } from './signal-schemas.ts';

/**
 * Polling and webhooks build the same payload and key. Lists show state, not events: kinds other than
 * `updated` need a timestamp.
 */

export function issueSignal(repository: string, issue: Issue) {
  const { created_at, updated_at, closed_at } = issue;
  const kind =
    created_at === updated_at ? 'issue.created' : closed_at === updated_at ? 'issue.closed' : 'issue.updated';
  return version('issue', kind, updated_at, {
    repository,
    id: issue.id,
    number: issue.number,
    title: issue.title,
    state: issue.state,
    state_reason: issue.state_reason ?? null,
    author: issue.user?.login ?? null,
    labels: namesOf(issue.labels),
    assignees: loginsOf(issue.assignees),
    milestone: issue.milestone?.title ?? null,
    locked: issue.locked ?? false,
    comments: issue.comments ?? 0,
    body: issue.body ?? null,
    url: issue.html_url,
    created_at,
    updated_at,
    closed_at: closed_at ?? null,
  });
}

export function pullRequestSignal(repository: string, pull: PullRequest) {
  return version('pull_request', pullRequestKind(pull), pull.updated_at, {
    repository,
    id: pull.id,
    number: pull.number,
    title: pull.title,
    state: pull.state,
    draft: pull.draft ?? false,
    author: pull.user?.login ?? null,
    labels: namesOf(pull.labels),
    assignees: loginsOf(pull.assignees),
    reviewers: loginsOf(pull.requested_reviewers),
    milestone: pull.milestone?.title ?? null,
    locked: pull.locked ?? false,
    head: { ref: pull.head.ref, sha: pull.head.sha },
    base: { ref: pull.base.ref },
    body: pull.body ?? null,
    url: pull.html_url,
    created_at: pull.created_at,
    updated_at: pull.updated_at,
    closed_at: pull.closed_at ?? null,
    merged_at: pull.merged_at ?? null,
  });
}

function pullRequestKind({ created_at, updated_at, merged_at, closed_at }: PullRequest) {
  if (created_at === updated_at) return 'pull_request.created';
  if (merged_at === updated_at) return 'pull_request.merged';
  return closed_at === updated_at ? 'pull_request.closed' : 'pull_request.updated';
}

export function issueCommentSignal(repository: string, comment: IssueComment) {
  return version('issue_comment', commentKind('issue_comment', comment), comment.updated_at, {
    repository,
    id: comment.id,
    issue_number: numberIn(comment.issue_url),
    author: comment.user?.login ?? null,
    body: comment.body ?? null,
    url: comment.html_url,
    created_at: comment.created_at,
    updated_at: comment.updated_at,
  });
}

/** Without current line and commit, which every push changes. */
export function reviewCommentSignal(repository: string, comment: ReviewComment) {
  return version('review_comment', commentKind('review_comment', comment), comment.updated_at, {
    repository,
    id: comment.id,
    pull_request_number: numberIn(comment.pull_request_url),
    review_id: comment.pull_request_review_id ?? null,
    in_reply_to_id: comment.in_reply_to_id ?? null,
    path: comment.path,
    original_line: comment.original_line ?? null,
    original_commit: comment.original_commit_id ?? null,
    author: comment.user?.login ?? null,
    body: comment.body ?? null,
    url: comment.html_url,
    created_at: comment.created_at,
    updated_at: comment.updated_at,
  });
}

const commentKind = <Item extends string>(
  item: Item,
  { created_at, updated_at }: IssueComment | ReviewComment,
) => `${item}.${created_at === updated_at ? 'created' : 'updated'}` as const;

/**
 * The key has the repository (forks share commits) and no version (immutable). No email addresses (personal
 * data).
 */
export function commitSignal(repository: string, item: Commit) {
  const { author, committer, message } = item.commit;
  return {
    kind: 'commit.added' as const,
    occurredAt: committer?.date ?? author?.date ?? new Date(0),
    dedupeKey: `commit/${repository.toLowerCase()}/${item.sha}`,
    payload: {
      repository,
      sha: item.sha,
      message,
      author: { login: item.author?.login ?? null, name: author?.name ?? null, date: author?.date ?? null },
      committer: {
        login: item.committer?.login ?? null,
        name: committer?.name ?? null,
        date: committer?.date ?? null,
      },
      parents: item.parents.map(({ sha }) => sha),
      url: item.html_url,
    },
  };
}

/** No change time: new if published after the watermark. */
export function releaseSignal(repository: string, release: Release, knownUntil?: string) {
  const { published_at } = release;
  return version('release', releaseKind(release, knownUntil), published_at ?? release.created_at, {
    repository,
    id: release.id,
    tag: release.tag_name,
    target: release.target_commitish,
    name: release.name ?? null,
    draft: release.draft,
    prerelease: release.prerelease,
    author: release.author?.login ?? null,
    body: release.body ?? null,
    // No download counts: each would be a new version.
    assets: (release.assets ?? []).map(({ name, size }) => ({ name, size })),
    url: release.html_url,
    created_at: release.created_at,
    published_at: published_at ?? null,
  });
}

function releaseKind({ draft, published_at }: Release, knownUntil: string | undefined) {
  if (draft || !published_at) return 'release.drafted';
  const isNew = knownUntil === undefined || Date.parse(published_at) > Date.parse(knownUntil);
  return isNew ? 'release.published' : 'release.updated';
}

export function deletedSignal(item: string, { occurredAt, payload }: GithubSignal, action: string) {
  const { id } = payload as { id: number };
  const kind = `${item}.${action}`;
  return { kind, occurredAt, payload, dedupeKey: `${item}/${id}@${action}` } as GithubSignal;
}

interface Payload {
  repository: string;
  id: number;
  url: string;
}

/** Without repository and URL: a rename is no new version. */
function version<Kind extends string, Item extends Payload>(
  item: string,
  kind: Kind,
  time: string,
  payload: Item,
): Signal<Kind, Item> {
  const { repository: _, url: __, ...content } = payload;
  return {
    kind,
    occurredAt: time,
    payload,
    dedupeKey: versionKey(`${item}/${payload.id}`, time, content),
  };
}

const namesOf = (labels: Issue['labels']) =>
  (labels ?? []).map((label) => (typeof label === 'string' ? label : (label.name ?? '')));

const loginsOf = (people: Issue['assignees']) => (people ?? []).map(({ login }) => login);

const numberIn = (url: string) => Number(/\/(\d+)$/.exec(url)?.[1] ?? 0);
