/** Before every id. */
export const nilUuid = '00000000-0000-0000-0000-000000000000';

/** Either case, as Postgres. The OpenAPI document cannot show a flag. */
export const uuidPattern = /^[\da-fA-F]{8}(-[\da-fA-F]{4}){3}-[\da-fA-F]{12}$/;
