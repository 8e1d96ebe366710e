import { type Command, Option } from 'commander';
import { SynclineError } from '../contract/errors.ts';
import type { Syncline } from '../index.ts';
import { invalid, requireText, requireUuid } from '../values/arguments.ts';

export interface TenantOptions {
  tenant?: string;
  tenantName?: string;
}

export function withTenant(command: Command, description: string): Command {
  return command
    .option('--tenant <id>', description)
    .addOption(new Option('--tenant-name <name>', 'create a new tenant with this name').conflicts('tenant'));
}

export function checkTenant({ tenant, tenantName }: TenantOptions): void {
  if (tenant !== undefined) requireUuid('--tenant', tenant);
  else if (tenantName !== undefined) requireText('--tenant-name', tenantName, 200);
  else
    throw invalid(
      'Either --tenant or --tenant-name is required.',
      'Pass --tenant <id>, or --tenant-name <name> to create a new tenant.',
    );
}

/** If `work` then fails, the hint names the new tenant for the next attempt. */
export async function forTenant<T>(
  { tenants }: Syncline,
  { tenant, tenantName = '' }: TenantOptions,
  work: (tenantId: string) => Promise<T>,
): Promise<T> {
  if (tenant !== undefined) return work(tenant);
  const { id } = await tenants.create({ name: tenantName });
  return work(id).catch((error: unknown) => {
    if (!(error instanceof SynclineError)) throw error;
    const retryHint = `The tenant was created; use --tenant ${id} instead of --tenant-name.`;
    throw error.withHint(error.hint ? `${error.hint} ${retryHint}` : retryHint);
  });
}

/** Replaces the hint of an unknown-provider error. */
export function withProviderHint(hint: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof SynclineError && error.code === 'PROVIDER_NOT_FOUND'
      ? error.withHint(hint)
      : error;
  };
}
