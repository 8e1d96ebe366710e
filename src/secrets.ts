/** Names of fields whose values nobody should read, wherever an author put them. */
export const secretName = /token|secret|passw|authorization|cookie|credential|api[_-]?key|private[_-]?key/i;

export const isSecretName = (name: string) => secretName.test(name);

/** As JSON, with what looks like a secret by its name replaced. */
export function jsonWithoutSecrets(value: unknown): string {
  return (
    JSON.stringify(value, (key, inner: unknown) =>
      isSecretName(key) && inner !== null && inner !== undefined ? '[hidden]' : inner,
    ) ?? 'null'
  );
}
