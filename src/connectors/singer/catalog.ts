import { PermanentError } from '../../connector-kit/index.ts';
import { isObject } from '../../values/is-object.ts';

/** A stream to be read, by its name or id, and what else is to be said of it in the catalog. */
export type StreamChoice =
  | string
  | {
      stream: string;
      /** Such as `{ 'replication-method': 'INCREMENTAL', 'replication-key': 'updated_at' }`. */
      metadata?: Record<string, unknown>;
    };

interface MetadataEntry {
  breadcrumb: string[];
  metadata: Record<string, unknown>;
}

type CatalogStream = Record<string, unknown>;

/** A catalog in which these streams are selected, and no others. */
export function selectStreams(
  catalog: unknown,
  choices: readonly StreamChoice[],
): { streams: CatalogStream[] } {
  const streams = streamsOf(catalog);
  const wanted = new Map(
    choices.map((choice) =>
      typeof choice === 'string' ? [choice, {}] : [choice.stream, choice.metadata ?? {}],
    ),
  );
  const known = new Set(streams.flatMap(namesOf));
  const unknown = [...wanted.keys()].filter((name) => !known.has(name));
  if (unknown.length > 0)
    throw new PermanentError(
      `The tap has no stream ${unknown.map((name) => `"${name}"`).join(', ')}. It has: ${listed(streams)}.`,
    );
  return {
    streams: streams.map((stream) => {
      const name = namesOf(stream).find((one) => wanted.has(one));
      return name === undefined ? marked(stream, false, {}) : marked(stream, true, wanted.get(name) ?? {});
    }),
  };
}

export function streamsOf(catalog: unknown): CatalogStream[] {
  const streams = isObject(catalog) ? catalog['streams'] : undefined;
  if (!Array.isArray(streams) || !streams.every(isObject))
    throw new PermanentError('The catalog of the tap has no list of streams.');
  return streams;
}

/** The id is what is unique; the name is what people know. */
const namesOf = ({ tap_stream_id: id, stream }: CatalogStream): string[] =>
  [id, stream].filter((name) => typeof name === 'string');

const maxListed = 50;

function listed(streams: CatalogStream[]): string {
  const names = streams.map((stream) => namesOf(stream)[0] ?? '?').sort();
  const rest = names.length > maxListed ? ` and ${names.length - maxListed} more` : '';
  return `${names.slice(0, maxListed).join(', ')}${rest}`;
}

/** In the metadata, and in the schema, where taps of the first days look. */
function marked(stream: CatalogStream, selected: boolean, more: Record<string, unknown>): CatalogStream {
  const given = Array.isArray(stream['metadata']) ? (stream['metadata'] as unknown[]).filter(isEntry) : [];
  const own = given.find(({ breadcrumb }) => breadcrumb.length === 0);
  const fields = given.filter((entry) => entry !== own);
  return {
    ...stream,
    schema: isObject(stream['schema']) ? { ...stream['schema'], selected } : stream['schema'],
    metadata: [
      { breadcrumb: [], metadata: { ...own?.metadata, ...more, selected } },
      ...(selected ? fields.map(withField) : fields),
    ],
  };
}

/** A column that is merely available is left out by a tap unless somebody has asked for it. */
function withField(entry: MetadataEntry): MetadataEntry {
  const { metadata } = entry;
  const isOpen =
    metadata['inclusion'] === 'available' &&
    metadata['selected'] === undefined &&
    metadata['selected-by-default'] !== false;
  return isOpen ? { ...entry, metadata: { ...metadata, selected: true } } : entry;
}

const isEntry = (entry: unknown): entry is MetadataEntry =>
  isObject(entry) && Array.isArray(entry['breadcrumb']) && isObject(entry['metadata']);
