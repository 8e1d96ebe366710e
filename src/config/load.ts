import { invalidArgument, SynclineError } from '../contract/errors.ts';
import { isObject } from '../values/is-object.ts';
import { nearest, suggestion } from '../values/suggest.ts';
import { mergeRateLimits, rateLimitOf, rateLimitVariables } from './rate-limits.ts';
import type { Setting } from './setting.ts';
import { type Config, type ConfigOptions, settings } from './settings.ts';

interface Source {
  /** For errors and `syncline config`. */
  name: (path: string, setting: Setting<unknown>) => string;
  read: (section: string, key: string, setting: Setting<unknown>) => unknown;
}

interface ConfigEntry {
  path: string;
  value: unknown;
  /** Secrets masked. */
  shown: string;
  from: string;
  about: string;
}

export interface LoadedConfig {
  config: Config;
  entries: ConfigEntry[];
  warnings: string[];
}

export interface ConfigSources {
  options?: ConfigOptions | undefined;
  env?: NodeJS.ProcessEnv | undefined;
  file?: { path: string; options: ConfigOptions } | undefined;
}

/** In order of precedence. */
export function loadConfig({ options = {}, env = {}, file }: ConfigSources): LoadedConfig {
  const sources = [
    optionsSource(options, 'option'),
    envSource(env),
    ...(file ? [optionsSource(file.options, file.path)] : []),
  ];
  const entries = allSettings().map(([section, key, setting]) => resolve(section, key, setting, sources));
  const config = assemble(entries);
  checkCombinations(config, entries);
  return { config, entries, warnings: misspeltVariables(env) };
}

function allSettings(): [section: string, key: string, setting: Setting<unknown>][] {
  return Object.entries(settings).flatMap(([section, keys]) =>
    Object.entries(keys).map(([key, setting]): [string, string, Setting<unknown>] => [section, key, setting]),
  );
}

function resolve(section: string, key: string, setting: Setting<unknown>, sources: Source[]): ConfigEntry {
  const path = `${section}.${key}`;
  const found = sources.flatMap((source) => {
    const value = source.read(section, key, setting);
    return value === undefined ? [] : [{ value, from: source.name(path, setting) }];
  });
  for (const { value, from } of found) {
    if (!setting.schema.safeParse(value).success)
      throw wrongValue(from, setting.show(value), setting.allowed);
  }
  const { value, from } =
    setting === settings.rateLimit.providers ? merged(found) : (found[0] ?? byDefault(setting));
  return { path, value, shown: setting.show(value), from, about: setting.about };
}

const byDefault = (setting: Setting<unknown>) => ({ value: setting.default, from: 'default' });

/** Provider overrides merge field by field. */
function merged(found: { value: unknown; from: string }[]): { value: unknown; from: string } {
  if (found.length === 0) return byDefault(settings.rateLimit.providers);
  const values = found.map(({ value }) => value as Config['rateLimit']['providers']);
  return { value: values.reduce(mergeRateLimits), from: found.map(({ from }) => from).join(', ') };
}

function optionsSource(options: ConfigOptions, origin: string): Source {
  const raw = expandShorthand(options, origin);
  refuseUnknown(raw, origin);
  return {
    name: (path) => (origin === 'option' ? `option ${path}` : `${path} in ${origin}`),
    read: (section, key) => ownOf(ownOf(raw, section), key),
  };
}

function envSource(env: NodeJS.ProcessEnv): Source {
  const present = (setting: Setting<unknown>) => setting.env.filter((name) => env[name]?.trim()).slice(0, 1);
  const names = (setting: Setting<unknown>) =>
    setting === settings.rateLimit.providers
      ? rateLimitVariables(env).map(({ name }) => name)
      : present(setting);
  return {
    name: (_path, setting) => names(setting).join(', '),
    read: (_section, _key, setting) => {
      if (setting === settings.rateLimit.providers) return rateLimitsFrom(env);
      const [name] = present(setting);
      return name === undefined ? undefined : setting.fromText(env[name] ?? '');
    },
  };
}

function rateLimitsFrom(env: NodeJS.ProcessEnv): Config['rateLimit']['providers'] | undefined {
  const limits = rateLimitVariables(env).map(
    ({ name, provider, key, text }): Config['rateLimit']['providers'] => {
      const setting = settings.rateLimit[key];
      const value = setting.schema.safeParse(setting.fromText(text));
      if (!value.success) throw wrongValue(name, text, setting.allowed);
      return { [provider]: { [key]: value.data } };
    },
  );
  return limits.length === 0 ? undefined : limits.reduce(mergeRateLimits);
}

type RawOptions = Record<string, Record<string, unknown> | undefined>;

function expandShorthand(options: unknown, origin: string): RawOptions {
  if (!isObject(options)) {
    throw wrongValue(`The configuration (${origin})`, kindOf(options), 'an object');
  }
  const { database } = options;
  return (typeof database === 'string' ? { ...options, database: { url: database } } : options) as RawOptions;
}

function refuseUnknown(raw: RawOptions, origin: string): void {
  for (const [section, values] of Object.entries(raw)) {
    const known = Object.hasOwn(settings, section) ? settings[section as keyof typeof settings] : undefined;
    if (!known) throw unknownOption(section, ['connectors', ...Object.keys(settings)], origin);
    if (values !== undefined && !isObject(values))
      // It may be a key or a URL with a password.
      throw wrongValue(`option ${section}`, kindOf(values), 'an object');
    for (const key of Object.keys(values ?? {})) {
      if (!Object.hasOwn(known, key))
        throw unknownOption(
          `${section}.${key}`,
          Object.keys(known).map((name) => `${section}.${name}`),
          origin,
        );
    }
  }
}

function checkCombinations({ scheduler, rateLimit }: Config, entries: ConfigEntry[]): void {
  const { defaultIntervalSeconds, maxOverriddenIntervalSeconds, jitterPctMin, jitterPctMax } = scheduler;
  const origin = (path: string) => {
    const from = entries.find((entry) => entry.path === path)?.from;
    return from === 'default' ? `the default ${path}` : from;
  };
  if (defaultIntervalSeconds > maxOverriddenIntervalSeconds) {
    throw wrongValue(
      `${origin('scheduler.defaultIntervalSeconds')}`,
      String(defaultIntervalSeconds),
      `from 60 to the longest interval allowed, ${maxOverriddenIntervalSeconds} ` +
        `(${origin('scheduler.maxOverriddenIntervalSeconds')})`,
    );
  }
  if (jitterPctMin > jitterPctMax) {
    throw wrongValue(
      `${origin('scheduler.jitterPctMin')}`,
      String(jitterPctMin),
      `from 0 to the upper bound of the jitter, ${jitterPctMax} (${origin('scheduler.jitterPctMax')})`,
    );
  }
  if (rateLimit.baseSeconds > rateLimit.maxSeconds) {
    throw wrongValue(
      `${origin('rateLimit.baseSeconds')}`,
      String(rateLimit.baseSeconds),
      `from 1 to the longest pause, ${rateLimit.maxSeconds} (${origin('rateLimit.maxSeconds')})`,
    );
  }
  for (const slug of Object.keys(rateLimit.providers)) {
    const { baseSeconds, maxSeconds } = rateLimitOf(rateLimit, slug);
    if (baseSeconds > maxSeconds) {
      throw wrongValue(
        `baseSeconds for ${slug} (${origin('rateLimit.providers')})`,
        String(baseSeconds),
        `from 1 to the longest pause for ${slug}, ${maxSeconds}`,
      );
    }
  }
}

function assemble(entries: ConfigEntry[]): Config {
  const config: Record<string, Record<string, unknown>> = {};
  for (const { path, value } of entries) {
    const [section = '', key = ''] = path.split('.');
    config[section] = { ...config[section], [key]: value };
  }
  for (const section of Object.values(config)) Object.freeze(section);
  return Object.freeze(config) as Config;
}

/** Only a warning: a Kubernetes service named syncline sets SYNCLINE_PORT. */
function misspeltVariables(env: NodeJS.ProcessEnv): string[] {
  const known = allSettings().flatMap(([, , setting]) => setting.env);
  const perProvider = rateLimitVariables(env).map(({ name }) => name);
  return Object.keys(env)
    .filter((name) => name.startsWith('SYNCLINE_') && !known.includes(name) && !perProvider.includes(name))
    .flatMap((name) => {
      const closest = nearest(name, known);
      return closest
        ? [`The environment variable ${name} is unknown and ignored. Did you mean ${closest}?`]
        : [];
    });
}

function unknownOption(name: string, known: string[], origin: string): SynclineError {
  const where = origin === 'option' ? '' : ` in ${origin}`;
  return new SynclineError('CONFIG_INVALID', `Unknown option ${name}${where}.`, {
    hint: suggestion(name, known),
  });
}

function wrongValue(field: string, value: string, expected: string): SynclineError {
  return invalidArgument({ field, value, expected }, 'CONFIG_INVALID');
}

const kindOf = (value: unknown) => (value === null ? 'null' : Array.isArray(value) ? 'a list' : typeof value);

function ownOf<T extends object>(object: T | undefined, key: keyof T) {
  return object !== undefined && Object.hasOwn(object, key) ? object[key] : undefined;
}
