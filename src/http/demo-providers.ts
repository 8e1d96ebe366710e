interface DemoProvider {
  slug: string;
  name: string;
}

export interface DemoProviders {
  list(): readonly (DemoProvider & { isBroken: boolean })[];
  /** False if unknown. */
  setBroken(slug: string, isBroken: boolean): boolean;
}

/** The response of `/v1/demo/providers`. */
export interface DemoProviderList {
  items: (DemoProvider & { broken: boolean })[];
}
