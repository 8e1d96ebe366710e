/** Values that break naive readers. All are functions, because reading a value may change it. */

export const trap = (): never => {
  throw new Error('trap');
};

/** A proxy that throws on every access. */
export function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

export function circular(): Record<string, unknown> {
  const loop: Record<string, unknown> = {};
  loop['self'] = { loop };
  return loop;
}

export const nestedText = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
export const nested = (levels: number): unknown => JSON.parse(nestedText(levels));

/** Await calls this function. */
export const thenable = (
  then: (done: (value: unknown) => void, failed: (reason: unknown) => void) => void,
) => ({
  then,
});

/** `__proto__` and `constructor` as own properties, as JSON.parse creates them. */
export const polluting = (): unknown =>
  JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}');
