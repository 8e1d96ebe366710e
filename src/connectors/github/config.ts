import { z } from 'zod';

/** What can be read of a repository, in the order in which it is read. */
const resources = [
  'issues',
  'pull_requests',
  'issue_comments',
  'review_comments',
  'commits',
  'releases',
] as const;
export type Resource = (typeof resources)[number];

/** `..` is no name, and would lead elsewhere. */
const repositoryName = /^[\w-]{1,100}\/(?!\.{1,2}$)[\w.-]{1,100}$/;
/** What git itself allows, roughly: nothing that means something else in an address. */
const branchName = /^(?!.*(?:\.\.|\/\/|@\{))(?![./])(?!.*\/\.)[^\s~^:?*[\]\\%#]{1,255}(?<![/.])$/;

const repository = z.string().regex(repositoryName, {
  error: ({ input }) =>
    `${JSON.stringify(input).slice(0, 200)} is not of the form owner/name. Write for example octocat/hello-world, without https://github.com/ and without .git.`,
});

const repositories = z
  .array(repository, { error: 'Give the repositories to read: a list such as ["octocat/hello-world"].' })
  .min(1, { error: 'Give at least one repository, such as octocat/hello-world.' })
  .max(100, { error: 'At most 100 repositories fit into one connection. Make several connections.' })
  .superRefine((names, context) => {
    names.forEach((name, i) => {
      const first = names.findIndex((other) => other.toLowerCase() === name.toLowerCase());
      if (first < i)
        context.addIssue({ code: 'custom', path: [i], message: `${name} is there twice. Remove one.` });
    });
  });

const since = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()], {
    error: ({ input }) =>
      `${JSON.stringify(input)} is no date. Write for example 2026-01-31 or 2026-01-31T00:00:00Z.`,
  })
  .transform((text) => isoSeconds(Date.parse(text)));

export const configSchema = z.strictObject(
  {
    repositories,
    resources: z
      .array(
        z.enum(resources, {
          error: ({ input }) => `${JSON.stringify(input)} is none of ${resources.join(', ')}.`,
        }),
      )
      .min(1, { error: `Give at least one of ${resources.join(', ')}, or leave it out to read all.` })
      .default([...resources]),
    /** How far back the first sync goes; everything unless given. */
    since: since.optional(),
    /** Whose commits are read: the default branch's unless given. */
    branch: z
      .string()
      .regex(branchName, {
        error: ({ input }) => `${JSON.stringify(input).slice(0, 300)} is no name of a branch.`,
      })
      .optional(),
  },
  {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `${issue.keys.join(', ')}: there is no such setting. There are repositories, resources, since and branch.`
        : undefined,
  },
);
export type Config = z.output<typeof configSchema>;

/** As the provider writes times. */
export const isoSeconds = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;
