import { revokedHolder } from './provider/tokens.ts';

export interface DemoAccount {
  tenant: string;
  provider: string;
  externalId: string;
  config: Record<string, unknown> | undefined;
  holder: string;
  intervalSeconds: number;
  pausedBecause?: string;
}

export const demoProviders = [
  {
    slug: 'github',
    displayName: 'GitHub',
    configOf: (repository: string) => ({
      repositories: [repository],
      resources: ['issues', 'pull_requests'],
    }),
    loadAccount: (n: number) => `load-${n}/app`,
  },
  {
    slug: 'slack',
    displayName: 'Slack',
    // Never edited: a short lookback suffices.
    configOf: (channel: string) => ({ channels: [channel], lookbackSeconds: 120 }),
    loadAccount: (n: number) => `CLOAD${n}`,
  },
  {
    slug: 'google-calendar',
    displayName: 'Google Calendar',
    configOf: (calendar: string) => ({ calendars: [calendar] }),
    loadAccount: (n: number) => `load-${n}@app.example`,
  },
  {
    slug: 'warehouse',
    displayName: 'Warehouse',
    configOf: (database: string) => ({ database }),
    loadAccount: (n: number) => `load-${n}/app`,
  },
];

const handles = {
  Northwind: 'northwind',
  'Umbra Labs': 'umbra',
  'Harbour & Co': 'harbour',
  Fieldnotes: 'fieldnotes',
  Kestrel: 'kestrel',
};

type Tenant = keyof typeof handles;

export const demoTenants = Object.keys(handles) as Tenant[];

const repository = (tenant: Tenant, name: string) =>
  demoAccount(tenant, 'github', `${handles[tenant]}/${name}`);
const channel = (tenant: Tenant, name: string) =>
  demoAccount(tenant, 'slack', `#${name}`, `C${handles[tenant]}${name}`.toUpperCase());
const calendar = (tenant: Tenant, name: string) =>
  demoAccount(tenant, 'google-calendar', `${name}@${handles[tenant]}.example`);
const database = (tenant: Tenant, name: string) =>
  demoAccount(tenant, 'warehouse', `${handles[tenant]}/${name}`);

function demoAccount(
  tenant: Tenant,
  provider: string,
  externalId: string,
  account = externalId,
): DemoAccount {
  const config = demoProviders.find(({ slug }) => slug === provider)?.configOf(account);
  return { tenant, provider, externalId, config, holder: handles[tenant], intervalSeconds: 60 };
}

/** Every sixth is due immediately. */
export const demoAccounts: DemoAccount[] = [
  repository('Northwind', 'website'),
  channel('Umbra Labs', 'support'),
  calendar('Harbour & Co', 'team'),
  database('Fieldnotes', 'notes'),
  { ...repository('Kestrel', 'legacy-api'), holder: revokedHolder },
  channel('Northwind', 'engineering'),
  channel('Harbour & Co', 'orders'),
  database('Northwind', 'shop'),
  repository('Umbra Labs', 'core'),
  { ...calendar('Kestrel', 'team'), intervalSeconds: 120 },
  channel('Fieldnotes', 'general'),
  { ...repository('Harbour & Co', 'storefront'), intervalSeconds: 120 },
  calendar('Northwind', 'team'),
  database('Harbour & Co', 'stock'),
  repository('Fieldnotes', 'editor'),
  {
    ...channel('Umbra Labs', 'random'),
    pausedBecause: 'Umbra Labs is moving to another workspace; resume when they confirm.',
  },
  { ...calendar('Umbra Labs', 'office'), intervalSeconds: 300 },
  repository('Northwind', 'mobile-app'),
  database('Kestrel', 'telemetry'),
  channel('Kestrel', 'alerts'),
  repository('Fieldnotes', 'playbook'),
  { ...calendar('Fieldnotes', 'editors'), intervalSeconds: 300 },
  database('Umbra Labs', 'billing'),
  repository('Kestrel', 'firmware'),
];
