/** Values that break whoever takes them for what they look like. Each is made anew: what was read once may have changed. */

export const trap = (): never => {
  throw new Error('trap');
};

/** Whatever is asked of it throws. */
export function revoked(): object {
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  return proxy;
}

export function looped(): Record<string, unknown> {
  const loop: Record<string, unknown> = {};
  loop['self'] = { loop };
  return loop;
}

export const nestedText = (levels: number): string => `${'['.repeat(levels)}${']'.repeat(levels)}`;
export const nested = (levels: number): unknown => JSON.parse(nestedText(levels));

/** Waiting for it calls this. */
export const thenable = (then: (done: (value: unknown) => void, failed: (why: unknown) => void) => void) => ({
  then,
});

/** As the names that every object has come from JSON: as its own. */
export const polluting = (): unknown =>
  JSON.parse('{"__proto__":{"polluted":true},"constructor":{"prototype":{"polluted":true}}}');
