import { SynclineError } from '../errors.ts';
import { type Config, type ConfigOptions, type Setting, settings } from './settings.ts';
import { nearest, suggestion } from './suggest.ts';

/** A place that values come from, such as the environment; what comes first in a list of sources wins. */
interface Source {
  /** Says where the value of a setting stands there, in words for an error and for `syncline config`. */
  name: (path: string, setting: Setting<unknown>) => string;
  read: (section: string, key: string, setting: Setting<unknown>) => unknown;
}

/** The value of one setting, and where it came from. */
interface ConfigEntry {
  path: string;
  value: unknown;
  /** The value as people may see it: secrets are masked. */
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

/** Options win over the environment, the environment over the file, the file over the defaults. */
export function loadConfig({ options = {}, env = {}, file }: ConfigSources): LoadedConfig {
  const sources = [
    optionsSource(options, 'option'),
    envSource(env),
    ...(file ? [optionsSource(file.options, file.path)] : []),
  ];
  const entries = allSettings().map(([section, key, setting]) => resolve(section, key, setting, sources));
  const config = assemble(entries);
  checkTogether(config, entries);
  return { config, entries, warnings: misspeltVariables(env) };
}

function allSettings(): [section: string, key: string, setting: Setting<unknown>][] {
  return Object.entries(settings).flatMap(([section, keys]) =>
    Object.entries(keys).map(([key, setting]): [string, string, Setting<unknown>] => [section, key, setting]),
  );
}

function resolve(section: string, key: string, setting: Setting<unknown>, sources: Source[]): ConfigEntry {
  const path = `${section}.${key}`;
  for (const source of sources) {
    const value = source.read(section, key, setting);
    if (value === undefined) continue;
    const from = source.name(path, setting);
    if (!setting.schema.safeParse(value).success)
      throw wrongValue(from, setting.show(value), setting.allowed);
    return { path, value, shown: setting.show(value), from, about: setting.about };
  }
  return {
    path,
    value: setting.default,
    shown: setting.show(setting.default),
    from: 'default',
    about: setting.about,
  };
}

function optionsSource(options: ConfigOptions, origin: string): Source {
  const given = expandShorthand(options, origin);
  refuseUnknown(given, origin);
  return {
    name: (path) => (origin === 'option' ? `option ${path}` : `${path} in ${origin}`),
    read: (section, key) => given[section]?.[key],
  };
}

function envSource(env: NodeJS.ProcessEnv): Source {
  const present = (setting: Setting<unknown>) => setting.env.find((name) => env[name]?.trim());
  return {
    name: (_path, setting) => present(setting) ?? '',
    read: (_section, _key, setting) => {
      const name = present(setting);
      return name === undefined ? undefined : setting.fromText(env[name] ?? '');
    },
  };
}

type Given = Record<string, Record<string, unknown> | undefined>;

function expandShorthand(options: unknown, origin: string): Given {
  if (!isRecord(options)) {
    throw new SynclineError(
      'CONFIG_INVALID',
      `The configuration (${origin}) is ${typeof options}; it must be an object.`,
    );
  }
  const { database } = options;
  return (typeof database === 'string' ? { ...options, database: { url: database } } : options) as Given;
}

function refuseUnknown(given: Given, origin: string): void {
  for (const [section, values] of Object.entries(given)) {
    const known = settings[section as keyof typeof settings];
    if (!known) throw unknownOption(section, Object.keys(settings), origin);
    if (values !== undefined && !isRecord(values))
      throw wrongValue(`option ${section}`, JSON.stringify(values) ?? 'null', 'an object');
    for (const key of Object.keys(values ?? {})) {
      if (!(key in known))
        throw unknownOption(
          `${section}.${key}`,
          Object.keys(known).map((name) => `${section}.${name}`),
          origin,
        );
    }
  }
}

function checkTogether({ scheduler }: Config, entries: ConfigEntry[]): void {
  const { defaultIntervalSeconds, maxOverriddenIntervalSeconds, jitterPctMin, jitterPctMax } = scheduler;
  const origin = (path: string) => {
    const from = entries.find((entry) => entry.path === path)?.from;
    return from === 'default' ? `the default ${path}` : from;
  };
  if (defaultIntervalSeconds > maxOverriddenIntervalSeconds) {
    throw wrongValue(
      `${origin('scheduler.defaultIntervalSeconds')}`,
      String(defaultIntervalSeconds),
      `from 60 to the longest interval allowed, ${maxOverriddenIntervalSeconds} (${origin('scheduler.maxOverriddenIntervalSeconds')})`,
    );
  }
  if (jitterPctMin > jitterPctMax) {
    throw wrongValue(
      `${origin('scheduler.jitterPctMin')}`,
      String(jitterPctMin),
      `from 0 to the upper bound of the jitter, ${jitterPctMax} (${origin('scheduler.jitterPctMax')})`,
    );
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

/**
 * A variable that nearly has a known name is most likely a typing mistake. It is only warned about: platforms put
 * variables of their own under our prefix (a Kubernetes service named syncline brings SYNCLINE_PORT).
 */
function misspeltVariables(env: NodeJS.ProcessEnv): string[] {
  const known = allSettings().flatMap(([, , setting]) => setting.env);
  return Object.keys(env)
    .filter((name) => name.startsWith('SYNCLINE_') && !known.includes(name))
    .flatMap((name) => {
      const meant = nearest(name, known);
      return meant ? [`The environment variable ${name} is unknown and ignored. Did you mean ${meant}?`] : [];
    });
}

function unknownOption(name: string, known: string[], origin: string): SynclineError {
  const where = origin === 'option' ? '' : ` in ${origin}`;
  return new SynclineError('CONFIG_INVALID', `Unknown option ${name}${where}.`, {
    hint: suggestion(name, known),
  });
}

function wrongValue(name: string, shown: string, allowed: string): SynclineError {
  return new SynclineError('CONFIG_INVALID', `${name} is ${shown}; it must be ${allowed}.`);
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
