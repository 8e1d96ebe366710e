export const cleanups = new Set<() => unknown>();

/**
 * Runs after every test, for modules that open something. Test files of a worker share modules, so a hook that
 * a module registers itself would run only for the first file.
 */
export function cleanUpAfterEach(cleanup: () => unknown): void {
  cleanups.add(cleanup);
}
