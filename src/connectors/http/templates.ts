/** `{config.project}`; `{{name}}` is a literal `{name}`. */
export type Template = readonly (string | { name: string })[];

export type Value = string | number | boolean;
export type Resolve = (name: string) => Value | undefined;

const pattern = /\{\{([^{}]*)\}\}|(?<!\$)\{([^{}\s]*)\}/g;

/** Without whitespace: GraphQL and JSON bodies stay as they are. */
export function parseTemplate(text: string): Template {
  const parts: (string | { name: string })[] = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    if (match.index > end) parts.push(text.slice(end, match.index));
    parts.push(match[2] === undefined ? `{${match[1]}}` : { name: match[2] });
    end = match.index + match[0].length;
  }
  if (end < text.length || parts.length === 0) parts.push(text.slice(end));
  return parts;
}

export const namesIn = (template: Template): string[] =>
  template.flatMap((part) => (typeof part === 'string' ? [] : [part.name]));

export function render(
  template: Template,
  resolve: Resolve,
  encode: (value: string) => string = (value) => value,
): string | undefined {
  let text = '';
  for (const part of template) {
    const value = typeof part === 'string' ? part : resolve(part.name);
    if (value === undefined) return undefined;
    text += typeof part === 'string' ? part : encode(String(value));
  }
  return text;
}

/** A lone placeholder keeps the value's type. Missing values are omitted. */
export function renderJson(json: unknown, resolve: Resolve): unknown {
  if (typeof json === 'string') return renderText(parseTemplate(json), resolve);
  if (Array.isArray(json))
    return json.map((item) => renderJson(item, resolve)).filter((item) => item !== undefined);
  if (typeof json !== 'object' || json === null) return json;
  return Object.fromEntries(
    Object.entries(json)
      .map(([name, inner]) => [name, renderJson(inner, resolve)] as const)
      .filter(([, inner]) => inner !== undefined),
  );
}

function renderText(template: Template, resolve: Resolve): Value | undefined {
  const [only] = template;
  if (template.length === 1 && typeof only === 'object') return resolve(only.name);
  return render(template, resolve);
}

export function textsIn(
  json: unknown,
  at: readonly PropertyKey[] = [],
): { at: PropertyKey[]; text: string }[] {
  if (typeof json === 'string') return [{ at: [...at], text: json }];
  if (typeof json !== 'object' || json === null) return [];
  return Object.entries(json).flatMap(([name, inner]) =>
    textsIn(inner, [...at, Array.isArray(json) ? Number(name) : name]),
  );
}

/** Substituted when the description is read. */
const environment = /\$\{env\.([A-Za-z_][A-Za-z0-9_]*)\}/g;

export const environmentNames = (text: string): string[] =>
  [...text.matchAll(environment)].map(([, name]) => name as string);

export const isEnvironment = (text: string): boolean => /^\$\{env\.[A-Za-z_][A-Za-z0-9_]*\}$/.test(text);

/** After parsing: environment values are not templates. */
export const templateWith = (text: string, env: NodeJS.ProcessEnv): Template =>
  parseTemplate(text).map((part) => (typeof part === 'string' ? withEnvironment(part, env) : part));

export const withEnvironment = (text: string, env: NodeJS.ProcessEnv): string =>
  text.replaceAll(environment, (_, name: string) => env[name] ?? '');
