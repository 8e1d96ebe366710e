import { PermanentError, type Signal, versionKey } from '../../connector-kit/index.ts';
import { maxResult } from '../../values/limits.ts';
import type { SignalDescription, StreamDescription } from './description.ts';
import { type Path, pathOf, valueAt } from './paths.ts';
import { testOf } from './rules.ts';
import { parseTemplate, render, type Template } from './templates.ts';
import { parseTime, preview } from './times.ts';

/** undefined skips the record; a missing required field throws. */
export type ToSignal = (record: unknown, where: string) => Signal | undefined;

export function toSignalOf(stream: string, { signal, cursor }: StreamDescription): ToSignal {
  const skips = signal.skipWhen ? [signal.skipWhen].flat().map(testOf) : [];
  const isDeleted = signal.deleted && testOf(signal.deleted);
  const kindOf = kindReader(signal);
  const deletedKind = signal.deleted?.kind === undefined ? undefined : parseTemplate(signal.deleted.kind);
  const times = [signal.occurredAt ?? cursor?.path ?? []].flat();
  const keyOf = keyReader(stream, signal, cursor && pathOf(cursor.path));
  const payloadOf = payloadReader(signal);

  return (record, where) => {
    if (skips.some((skip) => skip(record))) return undefined;
    const kind = isDeleted?.(record) ? deletedKindOf(kindOf, deletedKind)(record) : kindOf(record);
    return {
      kind: kind.slice(0, maxResult.kindLength),
      occurredAt: timeOf(record, times, where),
      payload: payloadOf(record),
      dedupeKey: keyOf(record, where),
    };
  };
}

type KindOf = (record: unknown) => string;

function kindReader({ kind }: SignalDescription): KindOf {
  if (typeof kind === 'string') return kindFromTemplate(parseTemplate(kind));
  const path = pathOf(kind.path);
  return (record) => {
    const value = String(scalar(valueAt(record, path)) ?? '');
    return (Object.hasOwn(kind.map, value) ? kind.map[value] : undefined) ?? kind.default;
  };
}

const kindFromTemplate =
  (template: Template): KindOf =>
  (record) =>
    render(template, (path) => scalar(valueAt(record, pathOf(path))) ?? 'unknown') ?? 'unknown';

const deletedKindOf = (baseKindOf: KindOf, template: Template | undefined): KindOf =>
  template
    ? kindFromTemplate(template)
    : (record) => `${baseKindOf(record).slice(0, maxResult.kindLength - 8)}.deleted`;

function scalar(value: unknown): string | number | boolean | undefined {
  if (typeof value === 'string') return value === '' ? undefined : value;
  return typeof value === 'number' || typeof value === 'boolean' ? value : undefined;
}

function timeOf(record: unknown, paths: readonly string[], where: string): Date {
  for (const path of paths) {
    const value = valueAt(record, pathOf(path));
    if (value === undefined || value === null || value === '') continue;
    const ms = parseTime(value);
    if (ms === undefined)
      throw new PermanentError(`${where}: ${path} is ${preview(value)}, which is not a time.`);
    return new Date(ms);
  }
  throw new PermanentError(
    `${where} has no time: ${paths.join(', ')} ${paths.length === 1 ? 'is' : 'are'} missing.`,
  );
}

function keyReader(stream: string, { key, version, immutable }: SignalDescription, cursor: Path | undefined) {
  const keys = [key].flat();
  const versions = version === undefined ? undefined : [version].flat();
  return (record: unknown, where: string): string => {
    const item = [stream, ...keys.map((path) => partOf(record, path, where))].join('/');
    if (immutable) return item;
    if (versions) return `${item}@${versions.map((path) => partOf(record, path, where)).join('/')}`;
    const changedAt = cursor ? scalar(valueAt(record, cursor)) : undefined;
    return versionKey(item, String(changedAt ?? ''), record);
  };
}

/** Escaping keeps keys distinct. */
function partOf(record: unknown, path: string, where: string): string {
  const value = scalar(valueAt(record, pathOf(path)));
  if (value === undefined)
    throw new PermanentError(
      `${where} has no ${path}, which is part of its key: it is ${preview(valueAt(record, pathOf(path)))}.`,
    );
  return escaped(String(value));
}

/** encodeURIComponent throws on lone surrogates; Buffer does not. */
export const escaped = (text: string): string => encodeURIComponent(Buffer.from(text).toString());

function payloadReader({ payload }: SignalDescription): (record: unknown) => unknown {
  if (!payload) return (record) => record;
  const parts = Object.entries(payload).map(([name, path]) => [name, pathOf(path)] as const);
  return (record) =>
    Object.fromEntries(
      parts
        .map(([name, path]) => [name, valueAt(record, path)] as const)
        .filter(([, value]) => value !== undefined),
    );
}
