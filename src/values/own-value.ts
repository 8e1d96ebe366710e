/** Input must not reach a prototype. */
export function getOwn(value: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (found, step) =>
      typeof found === 'object' && found !== null && Object.hasOwn(found, step)
        ? (found as Record<PropertyKey, unknown>)[step]
        : undefined,
    value,
  );
}
