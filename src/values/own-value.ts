/** What stands at a place that a check names, or undefined. Own properties only: no input leads to a prototype. */
export function getOwn(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (found, step) =>
      typeof found === 'object' && found !== null && Object.hasOwn(found, step)
        ? (found as Record<PropertyKey, unknown>)[step]
        : undefined,
    value,
  );
}
