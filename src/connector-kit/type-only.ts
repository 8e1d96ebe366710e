import type { StandardSchemaV1 } from '@standard-schema/spec';

/** A schema without validation, for payloads whose type the compiler knows. */
export const typeOnly = <Payload>(): StandardSchemaV1<Payload> => ({
  '~standard': { version: 1, vendor: 'syncline', validate: (value) => ({ value: value as Payload }) },
});
