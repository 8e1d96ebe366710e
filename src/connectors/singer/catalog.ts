import { PermanentError } from '../../connector-kit/index.ts';
import { isObject } from '../../values/is-object.ts';

/** By name or id. */
export type StreamChoice =
  | string
  | {
      stream: string;
      /** For example `{ 'replication-method': 'INCREMENTAL', 'replication-key': 'updated_at' }`. */
      metadata?: Record<string, unknown>;
    };

interface MetadataEntry {
  breadcrumb: string[];
  metadata: Record<string, unknown>;
}

type CatalogStream = Record<string, unknown>;

export function selectStreams(
  catalog: unknown,
  choices: readonly StreamChoice[],
): { streams: CatalogStream[] } {
  const streams = streamsOf(catalog);
  const chosen = new Map(
    choices.map((choice) =>
      typeof choice === 'string' ? [choice, {}] : [choice.stream, choice.metadata ?? {}],
    ),
  );
  const known = new Set(streams.flatMap(namesOf));
  const unknown = [...chosen.keys()].filter((name) => !known.has(name));
  if (unknown.length > 0)
    throw new PermanentError(
      `The tap has no stream ${unknown.map((name) => `"${name}"`).join(', ')}. It has: ` +
        `${listStreams(streams)}.`,
    );
  return {
    streams: streams.map((stream) => {
      const name = namesOf(stream).find((candidate) => chosen.has(candidate));
      return name === undefined
        ? withSelection(stream, false, {})
        : withSelection(stream, true, chosen.get(name) ?? {});
    }),
  };
}

export function streamsOf(catalog: unknown): CatalogStream[] {
  const streams = isObject(catalog) ? catalog['streams'] : undefined;
  if (!Array.isArray(streams) || !streams.every(isObject))
    throw new PermanentError("The tap's catalog has no list of streams.");
  return streams;
}

const namesOf = ({ tap_stream_id: id, stream }: CatalogStream): string[] =>
  [id, stream].filter((name) => typeof name === 'string');

const maxListed = 50;

function listStreams(streams: CatalogStream[]): string {
  const names = streams.map((stream) => namesOf(stream)[0] ?? '?').sort();
  const rest = names.length > maxListed ? ` and ${names.length - maxListed} more` : '';
  return `${names.slice(0, maxListed).join(', ')}${rest}`;
}

/** For old taps also in the schema. */
function withSelection(
  stream: CatalogStream,
  selected: boolean,
  extraMetadata: Record<string, unknown>,
): CatalogStream {
  const entries = Array.isArray(stream['metadata']) ? (stream['metadata'] as unknown[]).filter(isEntry) : [];
  const streamEntry = entries.find(({ breadcrumb }) => breadcrumb.length === 0);
  const fields = entries.filter((entry) => entry !== streamEntry);
  return {
    ...stream,
    schema: isObject(stream['schema']) ? { ...stream['schema'], selected } : stream['schema'],
    metadata: [
      { breadcrumb: [], metadata: { ...streamEntry?.metadata, ...extraMetadata, selected } },
      ...(selected ? fields.map(withField) : fields),
    ],
  };
}

/** Taps omit `available` fields otherwise. */
function withField(entry: MetadataEntry): MetadataEntry {
  const { metadata } = entry;
  const isAvailable =
    metadata['inclusion'] === 'available' &&
    metadata['selected'] === undefined &&
    metadata['selected-by-default'] !== false;
  return isAvailable ? { ...entry, metadata: { ...metadata, selected: true } } : entry;
}

const isEntry = (entry: unknown): entry is MetadataEntry =>
  isObject(entry) && Array.isArray(entry['breadcrumb']) && isObject(entry['metadata']);
