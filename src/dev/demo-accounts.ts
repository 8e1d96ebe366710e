import { revokedAccount } from './provider/tokens.ts';

export interface DemoAccount {
  tenant: string;
  provider: string;
  /** What people call it. */
  externalId: string;
  /** What the provider calls it. */
  account: string;
  intervalSeconds: number;
  pausedBecause?: string;
}

export const demoProviders = [
  { slug: 'github', displayName: 'GitHub', authType: 'oauth2' },
  { slug: 'slack', displayName: 'Slack', authType: 'oauth2' },
  { slug: 'google-calendar', displayName: 'Google Calendar', authType: 'oauth2' },
  { slug: 'postgres', displayName: 'Postgres', authType: 'basic' },
];

/** The name that each tenant's accounts go by. */
const handles = {
  Northwind: 'northwind',
  'Umbra Labs': 'umbra',
  'Harbour & Co': 'harbour',
  Fieldnotes: 'fieldnotes',
  Kestrel: 'kestrel',
};

type Tenant = keyof typeof handles;

export const demoTenants = Object.keys(handles) as Tenant[];

const repository = (tenant: Tenant, name: string) => of(tenant, 'github', `${handles[tenant]}/${name}`);
const channel = (tenant: Tenant, name: string) =>
  of(tenant, 'slack', `#${name}`, `${handles[tenant]}/${name}`);
const calendar = (tenant: Tenant, name: string) =>
  of(tenant, 'google-calendar', `${name}@${handles[tenant]}.example`);
const database = (tenant: Tenant, name: string) => of(tenant, 'postgres', `${handles[tenant]}/${name}`);

function of(tenant: Tenant, provider: string, externalId: string, account = externalId): DemoAccount {
  return { tenant, provider, externalId, account, intervalSeconds: 60 };
}

/** In the order in which they first come due; every sixth does so at once, so those are of different providers. */
export const demoAccounts: DemoAccount[] = [
  repository('Northwind', 'website'),
  channel('Umbra Labs', 'support'),
  calendar('Harbour & Co', 'team'),
  database('Fieldnotes', 'notes'),
  of('Kestrel', 'github', revokedAccount),
  channel('Northwind', 'engineering'),
  channel('Harbour & Co', 'orders'),
  database('Northwind', 'shop'),
  repository('Umbra Labs', 'core'),
  { ...calendar('Kestrel', 'team'), intervalSeconds: 120 },
  channel('Fieldnotes', 'general'),
  { ...repository('Harbour & Co', 'storefront'), intervalSeconds: 120 },
  calendar('Northwind', 'team'),
  database('Harbour & Co', 'warehouse'),
  repository('Fieldnotes', 'editor'),
  {
    ...channel('Umbra Labs', 'random'),
    pausedBecause: 'Umbra Labs is moving to another workspace; they will tell us when to go on.',
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
