export type ExplainError = (error: unknown) => unknown;

export function withDatabaseErrors<
  Methods extends { [Name in keyof Methods]: (...args: never[]) => Promise<unknown> },
>(methods: Methods, explain: ExplainError): Methods {
  const wrapped = Object.entries(methods).map(([name, method]) => [
    name,
    (...args: never[]) =>
      (method as (...args: never[]) => Promise<unknown>)(...args).catch((error: unknown) => {
        throw explain(error);
      }),
  ]);
  return Object.fromEntries(wrapped) as Methods;
}

export async function* withDatabaseErrorsEach<T>(
  items: AsyncGenerator<T>,
  explain: ExplainError,
): AsyncGenerator<T> {
  try {
    yield* items;
  } catch (error) {
    throw explain(error);
  }
}
