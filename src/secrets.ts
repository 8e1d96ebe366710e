/** Names of fields whose values nobody should read, wherever an author put them. */
export const secretName = /token|secret|passw|authorization|cookie|credential|api[_-]?key|private[_-]?key/i;

export const isSecretName = (name: string) => secretName.test(name);

const hidden = '[hidden]';

/** As JSON, with what looks like a secret by its name replaced. */
export function jsonWithoutSecrets(value: unknown): string {
  return (
    JSON.stringify(value, (key, inner: unknown) =>
      isSecretName(key) && inner !== null && inner !== undefined ? hidden : inner,
    ) ?? 'null'
  );
}

/** The name of a field that holds what is shown in place of a secret: somebody wrote back what they had read. */
export function hiddenField(value: unknown): string | undefined {
  let found: string | undefined;
  JSON.stringify(value, (key, inner: unknown) => {
    if (inner === hidden && isSecretName(key)) found ??= key;
    return inner;
  });
  return found;
}
