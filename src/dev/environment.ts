import { isSecretParameter } from '../values/redact.ts';

export function environmentWithoutSecrets(): NodeJS.ProcessEnv {
  const isPrivate = (name: string) => /^(SYNCLINE_|PG|DATABASE_URL$)/.test(name) || isSecretParameter(name);
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !isPrivate(name)));
}
