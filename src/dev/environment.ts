import { isSecretName } from '../values/redact.ts';

/** This process's environment, for programs that have no use for what opens the database, providers and credentials. */
export function environmentWithoutSecrets(): NodeJS.ProcessEnv {
  const isPrivate = (name: string) => /^(SYNCLINE_|PG|DATABASE_URL$)/.test(name) || isSecretName(name);
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isPrivate(name)));
}
