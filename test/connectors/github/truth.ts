import { expect } from 'vitest';
import type { MemorySignal } from '../../../src/testing/index.ts';
import {
  type FakeRepository,
  history,
  type Item,
  type Resource,
} from '../../support/providers/github-repository.ts';

/** Prefix of the signal kinds of each resource. */
const kindPrefixes: Record<Resource, string> = {
  issues: 'issue',
  pull_requests: 'pull_request',
  issue_comments: 'issue_comment',
  review_comments: 'review_comment',
  releases: 'release',
};

type Payload = Record<string, unknown> & { id: number };
type StoredSignal = Pick<MemorySignal, 'kind' | 'payload'>;

/** Identifies a version of an item, at the provider and in a payload. */
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

/** Expects every item's last version to be stored, no duplicates and no version that never existed. */
export function expectTruth(
  signals: readonly StoredSignal[],
  repository: FakeRepository,
  resources: readonly (Resource | 'commits')[] = [...(Object.keys(kindPrefixes) as Resource[]), 'commits'],
): void {
  for (const resource of resources) {
    if (resource === 'commits') {
      expectCommits(signals, repository);
      continue;
    }
    const stored = signals
      .filter(({ kind }) => kind.split('.')[0] === kindPrefixes[resource])
      .map(({ payload }) => payload as Payload)
      .filter((payload) => payload['repository'] === repository.name)
      .map(versionOf);
    const storedVersions = new Set(stored);
    const lost = [...repository.items[resource].values()]
      .map(versionOf)
      .filter((item) => !storedVersions.has(item));
    const existed = new Set(repository.versions[resource].map(versionOf));
    const invented = [...storedVersions].filter((version) => !existed.has(version));
    expect({ resource, lost, invented, doubled: stored.length - storedVersions.size }).toEqual({
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

/** Adds `each` items of every resource. */
export function addItems(
  repository: FakeRepository,
  each: number,
  resources: readonly (Resource | 'commits')[] = [...(Object.keys(kindPrefixes) as Resource[]), 'commits'],
): void {
  const add = {
    issues: repository.openIssue,
    pull_requests: repository.openPull,
    issue_comments: repository.comment,
    review_comments: repository.reviewComment,
    releases: repository.release,
    commits: repository.commit,
  };
  for (let i = 0; i < each; i++) for (const resource of resources) add[resource]();
}
