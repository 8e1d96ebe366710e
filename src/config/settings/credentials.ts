import { z } from 'zod';
import { keyForm, maskKeys, parseKeys } from '../credential-keys.ts';
import { listFromText, setting } from '../setting.ts';

export const credentials = {
  keys: setting<readonly string[]>(
    {
      env: 'SYNCLINE_CREDENTIALS_KEYS',
      default: [],
      about:
        'Encryption keys for credentials: the first encrypts, all decrypt. Without a key, no credential can ' +
        'be stored. If the keys are lost, every customer must connect again.',
    },
    {
      schema: z
        .array(z.string())
        .max(20)
        .refine((keys) => parseKeys(keys) !== undefined),
      allowed: keyForm,
      fromText: listFromText,
      show: maskKeys,
    },
  ),
};
