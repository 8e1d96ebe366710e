import { z } from 'zod';

/** Only the fields read: new provider fields must not change versions. */

/** Null: deleted account. */
const person = z.object({ login: z.string() }).nullish();
const label = z.union([z.string(), z.object({ name: z.string().nullish() })]);
const time = z.iso.datetime({ offset: true });
const people = z.array(z.object({ login: z.string() })).nullish();
const milestone = z.object({ title: z.string() }).nullish();

const timestamps = { created_at: time, updated_at: time };

const issueFields = {
  ...timestamps,
  id: z.number(),
  number: z.number(),
  title: z.string(),
  body: z.string().nullish(),
  state: z.string(),
  user: person,
  labels: z.array(label).nullish(),
  assignees: people,
  milestone,
  locked: z.boolean().nullish(),
  html_url: z.string(),
  closed_at: time.nullish(),
};

export const issueShape = z.object({
  ...issueFields,
  state_reason: z.string().nullish(),
  comments: z.number().nullish(),
  pull_request: z.unknown().optional(),
});

export const pullRequestShape = z.object({
  ...issueFields,
  draft: z.boolean().nullish(),
  requested_reviewers: people,
  head: z.object({ ref: z.string(), sha: z.string() }),
  base: z.object({ ref: z.string() }),
  merged_at: time.nullish(),
});

export const issueCommentShape = z.object({
  ...timestamps,
  id: z.number(),
  body: z.string().nullish(),
  user: person,
  html_url: z.string(),
  issue_url: z.string(),
});

export const reviewCommentShape = z.object({
  ...timestamps,
  id: z.number(),
  body: z.string().nullish(),
  user: person,
  html_url: z.string(),
  pull_request_url: z.string(),
  pull_request_review_id: z.number().nullish(),
  in_reply_to_id: z.number().nullish(),
  path: z.string(),
  original_line: z.number().nullish(),
  original_commit_id: z.string().nullish(),
});

/** Clients supply commit dates: an invalid one must not block the branch. */
const signature = z.object({ name: z.string().nullish(), date: time.nullish().catch(null) }).nullish();

export const commitShape = z.object({
  sha: z.string(),
  html_url: z.string(),
  commit: z.object({ message: z.string(), author: signature, committer: signature }),
  author: z.object({ login: z.string().optional() }).nullish(),
  committer: z.object({ login: z.string().optional() }).nullish(),
  parents: z.array(z.object({ sha: z.string() })),
});

export const comparisonShape = z.object({ commits: z.array(commitShape) });

export const releaseShape = z.object({
  id: z.number(),
  tag_name: z.string(),
  target_commitish: z.string(),
  name: z.string().nullish(),
  body: z.string().nullish(),
  draft: z.boolean(),
  prerelease: z.boolean(),
  author: person,
  html_url: z.string(),
  created_at: time,
  published_at: time.nullish(),
  assets: z.array(z.object({ name: z.string(), size: z.number() })).nullish(),
});

export type Issue = z.output<typeof issueShape>;
export type PullRequest = z.output<typeof pullRequestShape>;
export type IssueComment = z.output<typeof issueCommentShape>;
export type ReviewComment = z.output<typeof reviewCommentShape>;
export type Commit = z.output<typeof commitShape>;
export type Release = z.output<typeof releaseShape>;
