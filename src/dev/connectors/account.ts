import { z } from 'zod';
import type { SyncContext } from '../../connector.ts';

/** What a connection of the demo is told: which account, and what opens it. */
export const accountSchema = z.object({
  account: z.string().min(1),
  token: z.string().min(1),
  /** Where the providers are, if not where `syncline dev` runs them. */
  baseUrl: z.url().optional(),
});

export type AccountContext = Pick<
  SyncContext<unknown, z.output<typeof accountSchema>>,
  'connection' | 'abortSignal' | 'log'
>;
