import { z } from 'zod';

const resources = [
  'issues',
  'pull_requests',
  'issue_comments',
  'review_comments',
  'commits',
  'releases',
] as const;
export type Resource = (typeof resources)[number];

/** Not `.` or `..` (path traversal). */
const repositoryName = /^[\w-]{1,100}\/(?!\.{1,2}$)[\w.-]{1,100}$/;
/** Excludes URL metacharacters. */
const branchName = /^(?!.*(?:\.\.|\/\/|@\{))(?![./])(?!.*\/\.)[^\s~^:?*[\]\\%#]{1,255}(?<![/.])$/;

const repository = z.string().regex(repositoryName, {
  error: ({ input }) =>
    `${JSON.stringify(input).slice(0, 200)} is not of the form owner/name. ` +
    'Use for example octocat/hello-world, without https://github.com/ and .git.',
});

const repositories = z
  .array(repository, { error: 'Set repositories to a list such as ["octocat/hello-world"].' })
  .min(1, { error: 'Set at least one repository, such as octocat/hello-world.' })
  .max(100, { error: 'A connection can have at most 100 repositories. Create several connections.' })
  .superRefine((names, context) => {
    names.forEach((name, i) => {
      const first = names.findIndex((other) => other.toLowerCase() === name.toLowerCase());
      if (first < i)
        context.addIssue({ code: 'custom', path: [i], message: `${name} is listed twice. Remove one.` });
    });
  });

const since = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()], {
    error: ({ input }) =>
      `${JSON.stringify(input)} is not a date. Use for example 2026-01-31 or 2026-01-31T00:00:00Z.`,
  })
  .transform((text) => isoSeconds(Date.parse(text)));

export const configSchema = z.strictObject(
  {
    repositories,
    resources: z
      .array(
        z.enum(resources, {
          error: ({ input }) => `${JSON.stringify(input)} is not one of ${resources.join(', ')}.`,
        }),
      )
      .min(1, { error: `Set at least one of ${resources.join(', ')}, or omit it to read all.` })
      .default([...resources]),
    since: since.optional(),
    branch: z
      .string()
      .regex(branchName, {
        error: ({ input }) => `${JSON.stringify(input).slice(0, 300)} is not a branch name.`,
      })
      .optional(),
  },
  {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `${issue.keys.join(', ')}: unknown setting. Settings are repositories, resources, since and branch.`
        : undefined,
  },
);
export type Config = z.output<typeof configSchema>;

export const isoSeconds = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;
