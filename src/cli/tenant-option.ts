import { type Command, Option } from 'commander';
import { SynclineError } from '../contract/errors.ts';
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

export function tenantOf(
  { tenant, tenantName }: TenantOptions,
  { orCredential = false } = {},
): { tenantId: string } | { tenantName: string } {
  if (tenant !== undefined) {
    requireUuid('--tenant', tenant);
    return { tenantId: tenant };
  }
  if (tenantName !== undefined) {
    requireText('--tenant-name', tenantName, 200);
    return { tenantName };
  }
  if (orCredential)
    throw invalid(
      'One of --tenant, --tenant-name and --credential is required.',
      'Pass --tenant <id>, --tenant-name <name> to create a new tenant, or --credential <id> to use its tenant.',
    );
  throw invalid(
    'Either --tenant or --tenant-name is required.',
    'Pass --tenant <id>, or --tenant-name <name> to create a new tenant.',
  );
}

export function withProviderHint(hint: string): (error: unknown) => never {
  return (error) => {
    throw error instanceof SynclineError && error.code === 'PROVIDER_NOT_FOUND'
      ? error.withHint(hint)
      : error;
  };
}
