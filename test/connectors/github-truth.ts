import { expect } from 'vitest';
import type { MemorySignal } from '../../src/testing/index.ts';
import {
  type FakeRepository,
  history,
  type Item,
  type Resource,
} from '../support/providers/github-repository.ts';

/** By the first word of their kinds. */
const words: Record<Resource, string> = {
  issues: 'issue',
  pull_requests: 'pull_request',
  issue_comments: 'issue_comment',
  review_comments: 'review_comment',
  releases: 'release',
};

type Payload = Record<string, unknown> & { id: number };
type StoredSignal = Pick<MemorySignal, 'kind' | 'payload'>;

/** What tells one version of an item from another, there and here. */
const versionOf = (item: Item | Payload) =>
  JSON.stringify([
    item.id,
    item['updated_at'],
    item['title'],
    item['state'],
    item['body'],
    item['draft'],
    item['tag_name'] ?? item['tag'],
    item['published_at'],
  ]);

/**
 * What is stored, compared with what the provider itself has: every item in its last version, nothing twice, and nothing
 * that never was.
 */
export function expectTruth(
  signals: readonly StoredSignal[],
  repository: FakeRepository,
  resources: readonly (Resource | 'commits')[] = [...(Object.keys(words) as Resource[]), 'commits'],
): void {
  for (const resource of resources) {
    if (resource === 'commits') {
      expectCommits(signals, repository);
      continue;
    }
    const stored = signals
      .filter(({ kind }) => kind.split('.')[0] === words[resource])
      .map(({ payload }) => payload as Payload)
      .filter((payload) => payload['repository'] === repository.name)
      .map(versionOf);
    const known = new Set(stored);
    const lost = [...repository.items[resource].values()].map(versionOf).filter((item) => !known.has(item));
    const existed = new Set(repository.versions[resource].map(versionOf));
    const invented = [...known].filter((version) => !existed.has(version));
    expect({ resource, lost, invented, doubled: stored.length - known.size }).toEqual({
      resource,
      lost: [],
      invented: [],
      doubled: 0,
    });
  }
}

function expectCommits(signals: readonly StoredSignal[], repository: FakeRepository): void {
  const stored = signals
    .filter(({ kind }) => kind === 'commit.added')
    .map(({ payload }) => payload as { repository: string; sha: string })
    .filter((payload) => payload.repository === repository.name)
    .map(({ sha }) => sha);
  const head = repository.heads.get('main');
  const lost = [...history(repository, head).keys()].filter((sha) => !stored.includes(sha));
  expect({ lost, doubled: stored.length - new Set(stored).size }).toEqual({ lost: [], doubled: 0 });
}

/** Some of everything, or of these. */
export function fill(
  repository: FakeRepository,
  each: number,
  resources: readonly (Resource | 'commits')[] = [...(Object.keys(words) as Resource[]), 'commits'],
): void {
  const adding = {
    issues: repository.openIssue,
    pull_requests: repository.openPull,
    issue_comments: repository.comment,
    review_comments: repository.reviewComment,
    releases: repository.release,
    commits: repository.commit,
  };
  for (let i = 0; i < each; i++) for (const resource of resources) adding[resource]();
}
