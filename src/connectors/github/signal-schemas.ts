import { type PayloadsOf, type SignalOf, typeOnly } from '../../connector-kit/index.ts';
import type {
  commitSignal,
  issueCommentSignal,
  issueSignal,
  pullRequestSignal,
  releaseSignal,
  reviewCommentSignal,
} from './signals.ts';

type PayloadOf<Make extends (...args: never[]) => { payload: unknown }> = ReturnType<Make>['payload'];

const issue = typeOnly<PayloadOf<typeof issueSignal>>();
const pullRequest = typeOnly<PayloadOf<typeof pullRequestSignal>>();
const issueComment = typeOnly<PayloadOf<typeof issueCommentSignal>>();
const reviewComment = typeOnly<PayloadOf<typeof reviewCommentSignal>>();
const release = typeOnly<PayloadOf<typeof releaseSignal>>();

/** `deleted` and `transferred` come from webhooks. */
export const signalSchemas = {
  'issue.created': issue,
  'issue.updated': issue,
  'issue.closed': issue,
  'issue.deleted': issue,
  'issue.transferred': issue,
  'pull_request.created': pullRequest,
  'pull_request.updated': pullRequest,
  'pull_request.closed': pullRequest,
  'pull_request.merged': pullRequest,
  'pull_request.deleted': pullRequest,
  'pull_request.transferred': pullRequest,
  'issue_comment.created': issueComment,
  'issue_comment.updated': issueComment,
  'issue_comment.deleted': issueComment,
  'issue_comment.transferred': issueComment,
  'review_comment.created': reviewComment,
  'review_comment.updated': reviewComment,
  'review_comment.deleted': reviewComment,
  'review_comment.transferred': reviewComment,
  'commit.added': typeOnly<PayloadOf<typeof commitSignal>>(),
  'release.drafted': release,
  'release.published': release,
  'release.updated': release,
  'release.deleted': release,
  'release.transferred': release,
};

export type GithubPayloads = PayloadsOf<typeof signalSchemas>;
export type GithubSignal = SignalOf<GithubPayloads>;
