export interface DemoProviders {
  list(): readonly { slug: string; name: string; isBroken: boolean }[];
  /** False if unknown. */
  setBroken(slug: string, isBroken: boolean): boolean;
}
