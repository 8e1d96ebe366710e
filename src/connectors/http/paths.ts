/** A way into JSON: names of properties, and numbers of items (negative ones count from the end). */
export type Path = readonly (string | number)[];

/** Deep enough for any answer that people can read. */
const maxSteps = 30;

/** `data.items[0].id`; `\.` is a dot within a name. Says what is wrong with a text that is no path. */
export function parsePath(text: string): { path: Path } | { problem: string } {
  const steps: (string | number)[] = [];
  let rest = text;
  while (rest !== '') {
    const item = /^\[(-?\d{1,9})\](?=$|[.[])/.exec(rest);
    const name = item ? null : /^(?:\\[.[\]\\]|[^.[\]\\])+/.exec(rest);
    const found = item ?? name;
    if (!found)
      return { problem: `a path such as data.items or [0].id; "${rest.slice(0, 20)}" is no step of one` };
    steps.push(item ? Number(item[1]) : found[0].replaceAll(/\\(.)/g, '$1'));
    rest = rest.slice(found[0].length);
    if (rest === '.') return { problem: 'a path that does not end with a dot' };
    if (rest.startsWith('.')) rest = rest.slice(1);
  }
  if (steps.length > maxSteps) return { problem: `a path of at most ${maxSteps} steps` };
  return { path: steps };
}

/** Of a path that was checked when the description was read. */
export function pathOf(text: string): Path {
  const parsed = parsePath(text);
  return 'path' in parsed ? parsed.path : [];
}

/** What is there, or undefined. Own properties only: nothing that an answer says leads to a prototype. */
export function valueAt(value: unknown, path: Path): unknown {
  let found = value;
  for (const step of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    if (Array.isArray(found)) found = typeof step === 'number' ? found.at(step) : undefined;
    else found = Object.hasOwn(found, step) ? (found as Record<string | number, unknown>)[step] : undefined;
  }
  return found;
}
