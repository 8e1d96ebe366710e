/** Either case, as Postgres. Without a flag, so that the OpenAPI document can show it. */
export const uuidPattern = /^[\da-fA-F]{8}(-[\da-fA-F]{4}){3}-[\da-fA-F]{12}$/;
