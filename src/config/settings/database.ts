import { z } from 'zod';
import { maskUrl } from '../mask-url.ts';
import { integer, setting } from '../setting.ts';

const postgresUrl = {
  schema: z
    .string()
    .refine((url) => /^postgres(ql)?:\/\/[^#]*$/.test(url) && URL.canParse(url))
    .optional(),
  allowed:
    'a URL such as postgres://user:password@host:5432/database, with special characters in the password ' +
    'percent-encoded (# as %23, / as %2F)',
  fromText: (text: string) => text.trim(),
  show: maskUrl,
};

export const database = {
  url: setting<string | undefined>(
    {
      env: ['SYNCLINE_DATABASE_URL', 'DATABASE_URL'],
      default: undefined,
      about: 'URL of the Postgres database.',
    },
    postgresUrl,
  ),
  notifyUrl: setting<string | undefined>(
    {
      env: 'SYNCLINE_DATABASE_NOTIFY_URL',
      default: undefined,
      about:
        'URL that reaches the same database without a pooler, for the LISTEN connection of an executor. Set ' +
        'it if database.url leads through a transaction pooler: otherwise executors poll for jobs.',
    },
    postgresUrl,
  ),
  schema: setting<string>(
    {
      env: 'SYNCLINE_DATABASE_SCHEMA',
      default: 'syncline',
      about: 'Postgres schema of all tables. Several engines can share a database, each with its own schema.',
    },
    {
      // Postgres truncates longer names: two schemas could become one.
      schema: z
        .string()
        .refine((name) => Buffer.byteLength(name) <= 63 && name.length > 0 && !name.includes('\0')),
      allowed: 'a name of 1 to 63 bytes',
      fromText: (text) => text,
    },
  ),
  poolSize: integer({
    env: 'SYNCLINE_DATABASE_POOL_SIZE',
    default: 10,
    min: 2,
    max: 200,
    unit: 'connections',
    about:
      'Database connections per process. Too low: roles wait for each other. Too high: the processes ' +
      'together exceed max_connections.',
  }),
};
