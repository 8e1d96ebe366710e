import { z } from '@hono/zod-openapi';
import { connectionHealths, connectionStatuses } from '../contract/states.ts';
import { isoText, text, uuid } from '../values/model.ts';
import { omitUndefined } from '../values/omit-undefined.ts';
import { suggestion } from '../values/suggest.ts';

export function strict<Shape extends z.core.$ZodShape>(shape: Shape) {
  const known = Object.keys(shape);
  return z.strictObject(shape, {
    error: (issue) =>
      issue.code === 'unrecognized_keys' && known.length > 0
        ? suggestion(String(issue['keys'][0]).slice(0, 80), known)
        : undefined,
  });
}

export { text } from '../values/model.ts';

/** Only schemas created after @hono/zod-openapi loads have `.openapi()`. */
export const id = () => uuid.clone();
export const time = () => isoText.clone();

export const provider = () => text(200).openapi({ description: 'Provider slug.', example: 'github' });

export const reason = () =>
  text(1000).openapi({
    description: 'Reason, stored in the audit log.',
    example: 'maintenance at the provider',
  });

export const intInQuery = (
  min: number,
  max: number,
  about: { default?: number; description?: string } = {},
) =>
  z
    .string()
    .regex(/^-?\d{1,15}$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((value) => value >= min && value <= max, `must be a whole number from ${min} to ${max}`)
    .openapi({ type: 'integer', minimum: min, maximum: max, ...about });

export const flagInQuery = (about: { default: boolean; description: string }) =>
  z
    .enum(['true', 'false'])
    .transform((value) => value === 'true')
    .openapi({ type: 'boolean', ...about });

export const timeInQuery = (description: string) =>
  z.iso
    .datetime({ offset: true, error: 'must be a time such as 2025-01-01T12:00:00Z' })
    .transform((value) => new Date(value))
    .openapi({ type: 'string', format: 'date-time', description, example: '2025-01-01T12:00:00Z' });

export const pageQuery = {
  limit: intInQuery(1, 100, { default: 20, description: 'Maximum number of items per page.' }).optional(),
  cursor: text(2000).openapi({ description: '`next_cursor` of the previous page.' }).optional(),
};

export const signalFilterQuery = {
  connection_id: id().optional(),
  provider: provider().optional(),
  kind: text(200).optional(),
  tenant_id: id().optional(),
};

export const connectionFilter = {
  tenant_id: id().optional(),
  provider: provider().optional(),
  status: z.enum(connectionStatuses).optional(),
  health: z.enum(connectionHealths).optional(),
  search: text(500).openapi({ description: 'An id, or a prefix of an external id.' }).optional(),
};

type Filter = z.output<z.ZodObject<typeof connectionFilter>>;

export function filterOf({ tenant_id: tenantId, provider, status, health, search }: Filter) {
  return omitUndefined({ tenantId, provider, status, health, search });
}

export const anyJson = (description: string) => z.unknown().openapi({ description });

export function listJson<Item, Json>(
  page: { items: readonly Item[]; nextCursor: string | undefined },
  toJson: (item: Item) => Json,
) {
  return { items: page.items.map(toJson), next_cursor: page.nextCursor ?? null };
}
