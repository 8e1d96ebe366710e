/** The subset that the page shows. */
export interface Schema {
  $ref?: string;
  type?: string | string[];
  format?: string;
  description?: string;
  enum?: unknown[];
  const?: unknown;
  default?: unknown;
  minimum?: number;
  maximum?: number;
  minLength?: number;
  maxLength?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  allOf?: Schema[];
  anyOf?: Schema[];
  oneOf?: Schema[];
  nullable?: boolean;
}

interface Content {
  [mediaType: string]: { schema?: Schema };
}

interface Parameter {
  $ref?: string;
  name: string;
  in: string;
  required?: boolean;
  description?: string;
  schema?: Schema;
}

export interface Operation {
  summary?: string;
  description?: string;
  tags?: string[];
  parameters?: Parameter[];
  requestBody?: { $ref?: string; description?: string; content?: Content };
  responses?: Record<string, { $ref?: string; description?: string; content?: Content }>;
}

export interface OpenApi {
  info: { title: string; version: string; description?: string };
  tags?: { name: string; description?: string }[];
  paths: Record<string, Record<string, unknown>>;
  [part: string]: unknown;
}

export interface Endpoint {
  anchor: string;
  method: string;
  path: string;
  operation: Operation;
}

export interface Group {
  name: string;
  description: string | undefined;
  endpoints: Endpoint[];
}

const methods = ['get', 'post', 'put', 'patch', 'delete'];

export function groupsOf(api: OpenApi): Group[] {
  const groups = new Map<string, Group>();
  for (const { name, description } of api.tags ?? []) groups.set(name, { name, description, endpoints: [] });
  for (const endpoint of endpointsOf(api)) {
    const name = endpoint.operation.tags?.[0] ?? 'other';
    const group = groups.get(name) ?? { name, description: undefined, endpoints: [] };
    group.endpoints.push(endpoint);
    groups.set(name, group);
  }
  return [...groups.values()].filter(({ endpoints }) => endpoints.length > 0);
}

function endpointsOf(api: OpenApi): Endpoint[] {
  return Object.entries(api.paths).flatMap(([path, item]) =>
    methods
      .filter((method) => item[method])
      .map((method) => ({
        anchor: `${method}-${path.replace(/[^a-z0-9]+/gi, '-').replace(/^-|-$/g, '')}`,
        method,
        path,
        operation: withSharedParameters(
          item[method] as Operation,
          item.parameters as Parameter[] | undefined,
        ),
      })),
  );
}

function withSharedParameters(operation: Operation, shared: Parameter[] | undefined): Operation {
  return shared ? { ...operation, parameters: [...shared, ...(operation.parameters ?? [])] } : operation;
}

export function resolveRef<Part extends { $ref?: string }>(api: OpenApi, part: Part): Part {
  if (!part.$ref?.startsWith('#/')) return part;
  let found: unknown = api;
  for (const step of part.$ref.slice(2).split('/')) {
    const key = step.replaceAll('~1', '/').replaceAll('~0', '~');
    found = typeof found === 'object' && found !== null ? (found as Record<string, unknown>)[key] : undefined;
  }
  return typeof found === 'object' && found !== null ? (found as Part) : part;
}

export function matches({ method, path, operation }: Endpoint, text: string): boolean {
  const haystack = `${method} ${path} ${operation.summary ?? ''} ${operation.tags?.join(' ') ?? ''}`;
  return text
    .toLowerCase()
    .split(/\s+/)
    .every((word) => haystack.toLowerCase().includes(word));
}
