import { describe, expect, it } from 'vitest';
import { loadConfig } from '../../src/config/load.ts';
import { maskUrl } from '../../src/config/mask-url.ts';
import { rateLimitOf } from '../../src/config/rate-limits.ts';
import type { ConfigOptions } from '../../src/config/settings.ts';

const configError = (sources: Parameters<typeof loadConfig>[0]) => {
  try {
    loadConfig(sources);
  } catch (error) {
    const { code, message, hint } = error as { code: string; message: string; hint?: string };
    expect(code).toBe('CONFIG_INVALID');
    return hint ? `${message} ${hint}` : message;
  }
  return expect.fail('loadConfig did not throw');
};

describe('SCH-11: configuration', () => {
  it('SCH-11: without configuration the defaults apply', () => {
    const { config } = loadConfig({});
    expect(config.scheduler).toMatchObject({
      tickIntervalSeconds: 60,
      defaultIntervalSeconds: 900,
      jitterPctMin: 0,
      jitterPctMax: 0.2,
      maxOverriddenIntervalSeconds: 86_400,
    });
    expect(config.retention.endedJobsDays).toBe(7);
    expect(config.database.schema).toBe('syncline');
    expect(config.metrics.host).toBe('127.0.0.1');
  });

  it('SCH-11: a loaded configuration is the same when passed as options', () => {
    const env = {
      SYNCLINE_DATABASE_URL: 'postgres://u:p@h/d',
      SYNCLINE_SERVER_TRUSTED_PROXIES: '10.0.0.0/8',
    };
    const options = { rateLimit: { providers: { github: { maxSeconds: 99 } } } };
    const { config } = loadConfig({ env, file: { path: 'file', options } });
    expect(loadConfig({ options: config, env }).config).toEqual(config);
  });

  it.each([
    ['SYNCLINE_SCHEDULER_TICK_INTERVAL_SECONDS', '9', '10 to 300'],
    ['SYNCLINE_SCHEDULER_TICK_INTERVAL_SECONDS', '301', '10 to 300'],
    ['SYNCLINE_SCHEDULER_TICK_INTERVAL_SECONDS', '60.5', '10 to 300'],
    ['SYNCLINE_SCHEDULER_TICK_INTERVAL_SECONDS', 'one minute', '10 to 300'],
    ['SYNCLINE_SCHEDULER_TICK_INTERVAL_SECONDS', '6e1', '10 to 300'],
    ['SYNCLINE_SCHEDULER_DEFAULT_INTERVAL_SECONDS', '59', '60 to'],
    ['SYNCLINE_SCHEDULER_DEFAULT_INTERVAL_SECONDS', '86401', '86400'],
    ['SYNCLINE_SCHEDULER_JITTER_PCT_MIN', '-0.1', '0 to 1'],
    ['SYNCLINE_SCHEDULER_JITTER_PCT_MIN', '0.3', '0 to the upper bound of the jitter, 0.2'],
    ['SYNCLINE_SCHEDULER_JITTER_PCT_MAX', '1.1', '0 to 1'],
    ['SYNCLINE_SCHEDULER_JITTER_PCT_MAX', '20%', '0 to 1'],
    ['SYNCLINE_SCHEDULER_MAX_OVERRIDDEN_INTERVAL_SECONDS', '59', '60 to 604800'],
    ['SYNCLINE_SCHEDULER_MAX_OVERRIDDEN_INTERVAL_SECONDS', '604801', '60 to 604800'],
    ['SYNCLINE_METRICS_PORT', '65536', '0 to 65535'],
    ['SYNCLINE_METRICS_TENANT_LABEL', 'maybe', 'true or false'],
    ['SYNCLINE_LOG_LEVEL', 'loud', 'trace, debug, info'],
    ['SYNCLINE_DATABASE_SCHEMA', 'x'.repeat(64), '1 to 63 bytes'],
    ['SYNCLINE_RETENTION_ENDED_JOBS_DAYS', '0', '1 to 3650'],
    ['SYNCLINE_EXECUTOR_CONCURRENCY', '0', '1 to 5000'],
    ['SYNCLINE_EXECUTOR_CLAIM_BATCH', '1001', '1 to 1000'],
    ['SYNCLINE_EXECUTOR_POLL_INTERVAL_MS', '49', '50 to 60000'],
    ['SYNCLINE_EXECUTOR_LEASE_SECONDS', '1', '2 to 3600'],
    ['SYNCLINE_EXECUTOR_MAX_RUN_SECONDS', '86401', '1 to 86400'],
    ['SYNCLINE_EXECUTOR_SHUTDOWN_GRACE_SECONDS', '-1', '0 to 3600'],
    ['SYNCLINE_RATELIMIT_BASE_SECONDS', '0', '1 to 3600'],
    ['SYNCLINE_RATELIMIT_MAX_SECONDS', '86401', '1 to 86400'],
    [
      'SYNCLINE_RATELIMIT_MAX_SECONDS',
      '4',
      'the default rateLimit.baseSeconds must be from 1 to the longest',
    ],
    ['SYNCLINE_RATELIMIT_JITTER_FACTOR', '2', '0 to 1'],
    ['SYNCLINE_RATELIMIT_GITHUB_BASE_SECONDS', 'soon', '1 to 3600'],
    ['SYNCLINE_RATELIMIT_GOOGLE_CALENDAR_JITTER_FACTOR', '-1', '0 to 1'],
    ['SYNCLINE_RATELIMIT_GITHUB_BASE_SECONDS', '1000', 'the longest pause for github, 900'],
  ])('SCH-11: %s=%s stops start-up with name, value and range', (name, value, range) => {
    const message = configError({ env: { [name]: value } });
    expect(message).toContain(name);
    expect(message).toContain(value);
    expect(message).toContain(range);
  });

  it.each(['10', '300', ' 60 ', '+60'])(
    'SCH-11: SYNCLINE_SCHEDULER_TICK_INTERVAL_SECONDS=%s is allowed',
    (value) => {
      const { config } = loadConfig({ env: { SYNCLINE_SCHEDULER_TICK_INTERVAL_SECONDS: value } });
      expect(config.scheduler.tickIntervalSeconds).toBe(Number(value));
    },
  );

  it('SCH-11: the error for a default interval above a lowered maximum names both', () => {
    const message = configError({ env: { SYNCLINE_SCHEDULER_MAX_OVERRIDDEN_INTERVAL_SECONDS: '600' } });
    expect(message).toMatch(/^the default scheduler\.defaultIntervalSeconds must be .*, got 900\.$/);
    expect(message).toContain('600 (SYNCLINE_SCHEDULER_MAX_OVERRIDDEN_INTERVAL_SECONDS)');
  });

  it('SCH-11: the error for an invalid option names its path', () => {
    expect(configError({ options: { scheduler: { tickIntervalSeconds: 5 } } })).toBe(
      'option scheduler.tickIntervalSeconds must be a whole number of seconds from 10 to 300, got 5.',
    );
  });

  it('SCH-11: precedence is options, environment, file, defaults', () => {
    const { config, entries } = loadConfig({
      options: { scheduler: { tickIntervalSeconds: 20 } },
      env: { SYNCLINE_SCHEDULER_TICK_INTERVAL_SECONDS: '30', SYNCLINE_SCHEDULER_BATCH_SIZE: '30' },
      file: {
        path: 'syncline.config.ts',
        options: { scheduler: { batchSize: 40, tickIntervalSeconds: 40, jitterPctMax: 0.4 } },
      },
    });
    expect(config.scheduler).toMatchObject({
      tickIntervalSeconds: 20,
      batchSize: 30,
      jitterPctMax: 0.4,
      jitterPctMin: 0,
    });
    const from = Object.fromEntries(entries.map((entry) => [entry.path, entry.from]));
    expect(from).toMatchObject({
      'scheduler.tickIntervalSeconds': 'option scheduler.tickIntervalSeconds',
      'scheduler.batchSize': 'SYNCLINE_SCHEDULER_BATCH_SIZE',
      'scheduler.jitterPctMax': 'scheduler.jitterPctMax in syncline.config.ts',
      'scheduler.jitterPctMin': 'default',
    });
  });

  it('SCH-11: SYNCLINE_DATABASE_URL precedes DATABASE_URL, and an empty variable counts as unset', () => {
    const env = { SYNCLINE_DATABASE_URL: 'postgres://a/a', DATABASE_URL: 'postgres://b/b' };
    expect(loadConfig({ env }).config.database.url).toBe('postgres://a/a');
    expect(loadConfig({ env: { ...env, SYNCLINE_DATABASE_URL: '' } }).config.database.url).toBe(
      'postgres://b/b',
    );
  });

  it('SCH-11: a database URL with an unescaped # is rejected without its password', () => {
    expect(configError({ env: { DATABASE_URL: 'postgres://me:s3#cret@h/d' } })).toBe(
      'DATABASE_URL must be a URL such as postgres://user:password@host:5432/database, with special ' +
        'characters in the password percent-encoded (# as %23, / as %2F), got postgres://me:***@h/d.',
    );
  });

  it('SCH-11: `database` may be a URL string', () => {
    expect(loadConfig({ options: { database: 'postgres://h/d' } }).config.database).toMatchObject({
      url: 'postgres://h/d',
      schema: 'syncline',
    });
  });

  it.each([
    [
      { scheduler: { tickInterval: 60 } },
      'Unknown option scheduler.tickInterval. Did you mean scheduler.tickIntervalSeconds?',
    ],
    [{ schedular: {} }, 'Unknown option schedular. Did you mean scheduler?'],
    [{ conectors: [] }, 'Unknown option conectors. Did you mean connectors?'],
    [
      { colour: 'blue' },
      'Unknown option colour. Known: connectors, database, scheduler, executor, rateLimit, retention, server, credentials, metrics, log.',
    ],
  ])('SCH-11: an unknown option is rejected with a suggestion: %j', (options, message) => {
    expect(configError({ options: options as ConfigOptions })).toBe(message);
  });

  it.each([[null], [[]], ['postgres://h/d'], [{ scheduler: 60 }]])(
    'SCH-11: a configuration that is not an object is rejected: %j',
    (options) => {
      expect(configError({ options: options as unknown as ConfigOptions })).toContain('must be an object');
    },
  );

  it('SCH-11: a variable similar to a known one causes a warning; other SYNCLINE_ variables do not', () => {
    const { warnings } = loadConfig({
      env: { SYNCLINE_SCHEDULER_TICK_INTERVAL_SECOND: '60', SYNCLINE_PORT_80_TCP_ADDR: '10.0.0.1' },
    });
    expect(warnings).toEqual([
      expect.stringContaining('Did you mean SYNCLINE_SCHEDULER_TICK_INTERVAL_SECONDS?'),
    ]);
  });

  it('SCH-11: the loaded configuration is frozen', () => {
    const { config } = loadConfig({});
    expect(() => Object.assign(config.scheduler, { batchSize: 1 })).toThrow(TypeError);
  });

  it.each(['host=db password=s3cret', 'postgres:/u:s3cret@db/app', 'u:s3cret@db/app'])(
    'SCH-11: the error for an unparsable database URL does not contain its password: %s',
    (url) => {
      const message = configError({ env: { SYNCLINE_DATABASE_URL: url } });
      expect(message).toMatch(/^SYNCLINE_DATABASE_URL must be .*, got \(hidden/);
      expect(message).not.toContain('s3cret');
    },
  );

  it('SCH-11: the error for a database URL of another scheme masks its password', () => {
    const message = configError({ env: { SYNCLINE_DATABASE_URL: 'mysql://root:s3cret@h/d' } });
    expect(message).toContain('mysql://root:***@h/d');
    expect(message).not.toContain('s3cret');
  });

  it.each([
    ['postgres://u:s3cret@h:5432/d', 'postgres://u:***@h:5432/d'],
    ['postgres://u:p@ss:s3cret@h/d', 'postgres://u:***@h/d'],
    ['postgres://h/d?user=u&password=s3cret&x=1', 'postgres://h/d?user=u&password=***&x=1'],
    ['postgres://h/d?sslpassword=s3cret&auth_token=s3cret', 'postgres://h/d?sslpassword=***&auth_token=***'],
    ['postgres://u@h/d', 'postgres://u@h/d'],
    ['host=db user=u password=s3cret', '(hidden: not a URL)'],
    ['u:s3cret@db/app', '(hidden: not a URL)'],
    ['postgres:/u:s3cret@db/app', '(hidden: not a URL)'],
  ])('SCH-11: maskUrl hides the password of %s', (url, masked) => {
    expect(maskUrl(url)).toBe(masked);
  });
});

describe('EXE-7: the rate-limit policy of a provider', () => {
  const policyOf = (sources: Parameters<typeof loadConfig>[0], slug: string) =>
    rateLimitOf(loadConfig(sources).config.rateLimit, slug);

  it('EXE-7: without configuration the default policy applies', () => {
    expect(policyOf({}, 'github')).toEqual({ baseSeconds: 5, maxSeconds: 900, jitterFactor: 0.1 });
  });

  it('EXE-7: variable names contain the provider in capitals, with _ for other characters', () => {
    const env = {
      SYNCLINE_RATELIMIT_GOOGLE_CALENDAR_BASE_SECONDS: '30',
      SYNCLINE_RATELIMIT_GOOGLE_CALENDAR_JITTER_FACTOR: '0.5',
      SYNCLINE_RATELIMIT_MAX_SECONDS: '60',
    };
    expect(policyOf({ env }, 'google-calendar')).toEqual({
      baseSeconds: 30,
      maxSeconds: 60,
      jitterFactor: 0.5,
    });
    expect(policyOf({ env }, 'github')).toEqual({ baseSeconds: 5, maxSeconds: 60, jitterFactor: 0.1 });
    expect(loadConfig({ env }).warnings).toEqual([]);
  });

  it('EXE-7: precedence is options, variables, file, per field', () => {
    const sources = {
      options: { rateLimit: { providers: { 'google-calendar': { baseSeconds: 1 } } } },
      env: {
        SYNCLINE_RATELIMIT_GOOGLE_CALENDAR_BASE_SECONDS: '2',
        SYNCLINE_RATELIMIT_GOOGLE_CALENDAR_MAX_SECONDS: '20',
      },
      file: {
        path: 'the file',
        options: {
          rateLimit: {
            providers: {
              'google-calendar': { baseSeconds: 3, maxSeconds: 30, jitterFactor: 0.3 },
              slack: { baseSeconds: 4 },
            },
          },
        },
      },
    };
    expect(policyOf(sources, 'google-calendar')).toEqual({
      baseSeconds: 1,
      maxSeconds: 20,
      jitterFactor: 0.3,
    });
    expect(policyOf(sources, 'slack')).toMatchObject({ baseSeconds: 4 });
    const { entries } = loadConfig(sources);
    expect(entries.find(({ path }) => path === 'rateLimit.providers')?.from).toBe(
      'option rateLimit.providers, SYNCLINE_RATELIMIT_GOOGLE_CALENDAR_BASE_SECONDS, SYNCLINE_RATELIMIT_GOOGLE_CALENDAR_MAX_SECONDS, rateLimit.providers in the file',
    );
  });

  it.each([[{ github: { base: 5 } }], [{ github: { baseSeconds: 0 } }], [{ github: 5 }], ['github']])(
    'EXE-7: rateLimit.providers %j is rejected',
    (providers) => {
      const message = configError({ options: { rateLimit: { providers } } as unknown as ConfigOptions });
      expect(message).toContain('option rateLimit.providers must be ');
      expect(message).toContain(', got ');
    },
  );
});
