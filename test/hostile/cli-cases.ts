/** A command line, and how it ends. Nothing of it may do anything to a terminal. */
export interface CliCase {
  name: string;
  args: readonly string[];
  env?: NodeJS.ProcessEnv;
  input?: string;
  /** 0, or 1 with one line that says why. */
  code: 0 | 1;
  /** What is printed where it succeeds, what is said where it fails. */
  says: RegExp;
}

const colour = '\u001b[31mred\u001b]0;title\u0007';
const refused = (name: string, args: readonly string[], says: RegExp): CliCase => ({
  name,
  args,
  code: 1,
  says,
});
const limit = (text: string) =>
  refused(
    `a limit of ${JSON.stringify(text).slice(0, 30)}`,
    ['jobs', 'list', `--limit=${text}`],
    /--limit is .*; it must be a whole number from 1 to 1000/,
  );

export const cliCases: readonly CliCase[] = [
  refused(
    'an option that does things to a terminal',
    ['tick', `--${colour}`],
    /unknown option '--\\u001b\[31mred\\u001b\]0;title\\u0007'/,
  ),
  refused('an option of many lines', ['tick', '--a\nb\rc\u2028d'], /unknown option '--a b c d'/),
  refused(
    'an option without its value',
    ['jobs', 'list', '--limit'],
    /option '--limit <n>' argument missing/,
  ),
  refused(
    'an option given as a value of another',
    ['jobs', 'list', '--connection', '--json'],
    /connection is "--json"; it must be a UUID/,
  ),
  refused('an argument behind --', ['jobs', 'show', '--', '--json'], /job is "--json"; it must be a UUID/),
  refused(
    'a configuration file that is a folder',
    ['config', '--config', '.'],
    /\. could not be loaded|does not exist/,
  ),
  refused(
    'a configuration file whose name does things',
    ['config', '--config', `no${colour}`],
    /no\\u001b\[31mred.* does not exist/,
  ),
  refused(
    'a configuration file with NUL in its content',
    ['config', '--config', 'nul.mjs'],
    /nul\.mjs could not be loaded/,
  ),
  ...['', '9'.repeat(400), '5\n5'].map(limit),
  refused('an id that does things to a terminal', ['jobs', 'show', colour], /job is "\\u001b\[31mred/),
  refused(
    'an id of a megabyte',
    ['jobs', 'show', 'x'.repeat(100_000)],
    /job is "x{60,100}; it must be a UUID|job is "x{60,100}/,
  ),
  refused(
    'a status that every object has',
    ['jobs', 'list', '--status', 'constructor'],
    /status is "constructor"; it must be one of/,
  ),
  refused(
    'a config that is no JSON',
    ['connections', 'add', '--provider', 'p', '--tenant-name', 'x', '--config-json', '{"s3cret":'],
    /^error: (?!.*s3cret).*not valid JSON/,
  ),
  refused(
    'a config with NUL',
    [
      'connections',
      'add',
      '--provider',
      'odd',
      '--tenant-name',
      'nul',
      '--register',
      '--config-json',
      '{"a":"\\u0000"}',
    ],
    /NUL/,
  ),
  refused(
    'a time in year 275760',
    ['tick', '--at', '+275760-09-13T00:00:00Z'],
    /--at is .*; it must be an ISO-8601 time/,
  ),
  refused('a credential of nothing', ['credentials', 'add', '--tenant-name', 'x', '--provider', 'p'], /.+/),
  refused(
    'a role that does things to a terminal',
    ['start', '--roles', colour],
    /There is no role "\\u001b\[31mred/,
  ),
  refused('a connector that is a folder', ['connector', 'run', '.'], /The connector file \. does not exist/),
  refused(
    'a connector whose name does things',
    ['connector', 'new', `a${colour}`],
    /<name> is "a\\u001b\[31mred/,
  ),
  refused('a connector outside of its folder', ['connector', 'new', '../../evil'], /it must be a slug/),
  refused('a folder where a file is', ['connector', 'new', 'mine', '--dir', 'nul.mjs'], /^error: .*nul\.mjs/),
  {
    ...refused(
      'a variable that does things to a terminal',
      ['config'],
      /SYNCLINE_LOG_LEVEL is \\u001b\[31mred/,
    ),
    env: { SYNCLINE_LOG_LEVEL: colour },
  },
  {
    name: 'no home',
    args: ['tick', '--json'],
    env: { HOME: undefined, USER: undefined },
    code: 0,
    says: /^\{"scheduled":/,
  },
  {
    name: 'a name that does things to a terminal',
    args: ['connections', 'list'],
    code: 0,
    says: /evil\\u001b\[31mname\\u009b2J\\u202e/,
  },
  {
    name: 'the same name, for machines',
    args: ['connections', 'list', '--json'],
    code: 0,
    says: /"evil\\u001b\[31mname\\u009b2J\\u202e"/,
  },
];
