import { z } from 'zod';
import { maskUrl } from '../mask-url.ts';
import { integer, setting } from '../setting.ts';

const postgresUrl = {
  schema: z
    .string()
    .refine((url) => /^postgres(ql)?:\/\//.test(url) && URL.canParse(url))
    .optional(),
  allowed: 'a URL such as postgres://user:password@host:5432/database',
  fromText: (text: string) => text.trim(),
  show: maskUrl,
};

export const database = {
  url: setting<string | undefined>(
    {
      env: ['SYNCLINE_DATABASE_URL', 'DATABASE_URL'],
      default: undefined,
      about: 'The Postgres to run on.',
    },
    postgresUrl,
  ),
  notifyUrl: setting<string | undefined>(
    {
      env: 'SYNCLINE_DATABASE_NOTIFY_URL',
      default: undefined,
      about:
        'The same database without a pooler, for the one connection of an executor that listens. Needed only where the URL leads to a transaction pooler.',
    },
    postgresUrl,
  ),
  schema: setting<string>(
    {
      env: 'SYNCLINE_DATABASE_SCHEMA',
      default: 'syncline',
      about:
        'The Postgres schema that holds every table. Several engines can share a database, a schema each.',
    },
    {
      // Postgres cuts longer names off, so two schemas could silently become one.
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
    about: 'Too low: roles wait for each other. Too high: a fleet exhausts the server (max_connections).',
  }),
};
