/** Simulated providers, which an operator can break and heal. */
export interface DemoProviders {
  list(): readonly { slug: string; name: string; isBroken: boolean }[];
  /** False if the provider does not exist. */
  setBroken(slug: string, isBroken: boolean): boolean;
}
