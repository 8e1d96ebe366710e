export interface CliCase {
  name: string;
  args: readonly string[];
  env?: NodeJS.ProcessEnv;
  input?: string;
  /** If libraries read the environment too. */
  ownProcess?: true;
  /** 1: exactly one error line on stderr. */
  code: 0 | 1;
  /** Matches stdout on success and the error line on failure. */
  output: RegExp;
}

const escapes = '\u001b[31mred\u001b]0;title\u0007';
const refused = (name: string, args: readonly string[], output: RegExp): CliCase => ({
  name,
  args,
  code: 1,
  output,
});
const limit = (text: string) =>
  refused(
    `a limit of ${JSON.stringify(text).slice(0, 30)}`,
    ['jobs', 'list', `--limit=${text}`],
    /--limit must be a whole number from 1 to 1000, got /,
  );

export const cliCases: readonly CliCase[] = [
  refused(
    'an option with terminal escapes',
    ['tick', `--${escapes}`],
    /unknown option '--\\u001b\[31mred\\u001b\]0;title\\u0007'/,
  ),
  refused('an option with line breaks', ['tick', '--a\nb\rc\u2028d'], /unknown option '--a b c d'/),
  refused(
    'an option without its value',
    ['jobs', 'list', '--limit'],
    /option '--limit <n>' argument missing/,
  ),
  refused(
    'an option as the value of another',
    ['jobs', 'list', '--connection', '--json'],
    /connection must be a UUID, got "--json"/,
  ),
  refused('an argument after --', ['jobs', 'show', '--', '--json'], /job must be a UUID, got "--json"/),
  refused(
    'a configuration file that is a folder',
    ['config', '--config', '.'],
    /\. could not be loaded|does not exist/,
  ),
  refused(
    'a configuration file name with terminal escapes',
    ['config', '--config', `no${escapes}`],
    /no\\u001b\[31mred.* does not exist/,
  ),
  refused(
    'a configuration file that contains NUL',
    ['config', '--config', 'nul.mjs'],
    /nul\.mjs could not be loaded/,
  ),
  ...['', '9'.repeat(400), '5\n5'].map(limit),
  refused(
    'an ID with terminal escapes',
    ['jobs', 'show', escapes],
    /job must be a UUID, got "\\u001b\[31mred/,
  ),
  refused(
    'an ID of 100,000 characters',
    ['jobs', 'show', 'x'.repeat(100_000)],
    /job must be a UUID, got "x{60,100}/,
  ),
  refused(
    'a status named like an Object property',
    ['jobs', 'list', '--status', 'constructor'],
    /--status must be one of.*, got "constructor"/,
  ),
  refused(
    'a config that is not valid JSON',
    ['connections', 'add', '--provider', 'p', '--tenant-name', 'x', '--config-json', '{"s3cret":'],
    /^error: (?!.*s3cret).*got invalid JSON/,
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
    'a time in the year 275760',
    ['tick', '--at', '+275760-09-13T00:00:00Z'],
    /--at must be an ISO-8601 time.*, got /,
  ),
  refused(
    'a credential without a secret',
    ['credentials', 'add', '--tenant-name', 'x', '--provider', 'p'],
    /.+/,
  ),
  refused(
    'a role with terminal escapes',
    ['start', '--roles', escapes],
    /--roles must be one of .*, got "\\u001b\[31mred/,
  ),
  refused(
    'a connector that is a folder',
    ['connector', 'run', '.'],
    /<file> must be an existing file, got "\."/,
  ),
  refused(
    'a connector name with terminal escapes',
    ['connector', 'new', `a${escapes}`],
    /<name> must be .*, got "a\\u001b\[31mred/,
  ),
  refused('a connector name with a path', ['connector', 'new', '../../evil'], /must be a slug/),
  refused(
    'a target folder that is a file',
    ['connector', 'new', 'mine', '--dir', 'nul.mjs'],
    /^error: .*nul\.mjs/,
  ),
  {
    ...refused(
      'a variable with terminal escapes',
      ['config'],
      /SYNCLINE_LOG_LEVEL must be .*, got \\u001b\[31mred/,
    ),
    env: { SYNCLINE_LOG_LEVEL: escapes },
  },
  {
    name: 'no HOME and no USER',
    args: ['tick', '--json'],
    env: { HOME: undefined, USER: undefined },
    ownProcess: true,
    code: 0,
    output: /^\{"scheduled":/,
  },
  {
    name: 'a stored name with terminal escapes',
    args: ['connections', 'list'],
    code: 0,
    output: /evil\\u001b\[31mname\\u009b2J\\u202e/,
  },
  {
    name: 'the same name with --json',
    args: ['connections', 'list', '--json'],
    code: 0,
    output: /"evil\\u001b\[31mname\\u009b2J\\u202e"/,
  },
];
