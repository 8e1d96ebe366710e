/** Negative indexes count from the end. */
export type Path = readonly (string | number)[];

const maxSteps = 30;

/** `data.items[0].id`; `\.` is a dot in a name. */
export function parsePath(text: string): { path: Path } | { problem: string } {
  const steps: (string | number)[] = [];
  let rest = text;
  while (rest !== '') {
    const item = /^\[(-?\d{1,9})\](?=$|[.[])/.exec(rest);
    const name = item ? null : /^(?:\\[.[\]\\]|[^.[\]\\])+/.exec(rest);
    const found = item ?? name;
    if (!found)
      return { problem: `a path such as data.items or [0].id; "${rest.slice(0, 20)}" is not a step` };
    steps.push(item ? Number(item[1]) : found[0].replaceAll(/\\(.)/g, '$1'));
    rest = rest.slice(found[0].length);
    if (rest === '.') return { problem: 'a path that does not end with a dot' };
    if (rest.startsWith('.')) rest = rest.slice(1);
  }
  if (steps.length > maxSteps) return { problem: `a path of at most ${maxSteps} steps` };
  return { path: steps };
}

/** Already validated. */
export function pathOf(text: string): Path {
  const parsed = parsePath(text);
  return 'path' in parsed ? parsed.path : [];
}

/** Own properties only. */
export function valueAt(value: unknown, path: Path): unknown {
  let found = value;
  for (const step of path) {
    if (typeof found !== 'object' || found === null) return undefined;
    if (Array.isArray(found)) found = typeof step === 'number' ? found.at(step) : undefined;
    else found = Object.hasOwn(found, step) ? (found as Record<string | number, unknown>)[step] : undefined;
  }
  return found;
}
