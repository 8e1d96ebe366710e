import { type Command, Option } from 'commander';
import { SynclineError } from '../contract/errors.ts';
import type { Syncline } from '../syncline.ts';
import { invalid, requireText, requireUuid } from '../values/arguments.ts';

/** Whose something is: a tenant that is there, or a new one. */
export interface TenantOptions {
  tenant?: string;
  tenantName?: string;
}

export function withTenant(command: Command, whose: string): Command {
  return command
    .option('--tenant <id>', whose)
    .addOption(
      new Option('--tenant-name <name>', 'makes a new tenant of that name instead').conflicts('tenant'),
    );
}

export function checkTenant({ tenant, tenantName }: TenantOptions): void {
  if (tenant !== undefined) requireUuid('--tenant', tenant);
  else if (tenantName !== undefined) requireText('--tenant-name', tenantName, 200);
  else
    throw invalid(
      'Neither --tenant nor --tenant-name is given.',
      'Give --tenant <id>, or --tenant-name <name> to make a new tenant.',
    );
}

/** Makes the tenant if it is new. Where the work then fails, the error says whose id to give the next time. */
export async function forTenant<T>(
  { tenants }: Syncline,
  { tenant, tenantName = '' }: TenantOptions,
  work: (tenantId: string) => Promise<T>,
): Promise<T> {
  if (tenant !== undefined) return work(tenant);
  const { id } = await tenants.create({ name: tenantName });
  return work(id).catch((error: unknown) => {
    if (!(error instanceof SynclineError)) throw error;
    const made = `The tenant was made, so give --tenant ${id} in place of its name.`;
    throw new SynclineError(error.code, error.message, {
      hint: error.hint ? `${error.hint} ${made}` : made,
      cause: error,
    });
  });
}

/** What the engine cannot know: how a provider is registered from here. */
export function withProviderRemedy(provider: string, remedy: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof SynclineError) || error.message !== `There is no provider "${provider}".`)
      throw error;
    throw new SynclineError(error.code, error.message, { hint: remedy, cause: error });
  };
}
