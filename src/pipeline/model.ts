import { z } from 'zod';
import { jsonOf, uuid } from '../values/model.ts';

const triggerResult = z
  .object({
    jobId: uuid.meta({ description: 'The queued job; with `follows`, the running job.' }),
    effect: z.enum(['queued', 'brought_forward', 'follows']).meta({
      description:
        '`queued`: a new job. `brought_forward`: its queued job is due now. `follows`: a later rerun.',
    }),
  })
  .meta({ id: 'TriggerResult' });
/** The job of a manual trigger. */
export interface TriggerResult extends z.output<typeof triggerResult> {}

export const triggerJson = jsonOf(triggerResult);
