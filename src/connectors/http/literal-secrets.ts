import { isSecretName } from '../../values/redact.ts';
import type { Problem } from './problems.ts';
import { namesIn, parseTemplate, textsIn } from './templates.ts';

/** What keys of well-known providers look like, and headers that hold one. */
const secretValue =
  /^(?:Bearer|Basic|Token) \S{8,}|\b(?:sk|rk|pk)_(?:live|test)_\w{8,}|\bgh[pousr]_\w{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w-]{16,}|\bxox[abprs]-[\w-]{8,}|\beyJ[\w-]{10,}\.[\w-]{10,}\.|\bAKIA[A-Z\d]{12,}|-----BEGIN/;

/** Shorter than any secret: `true`, `v2`, `bearer`. */
const minSecret = 8;

/** Names that speak of secrets and hold none. */
const places = /^(?:(?:auth|budgets|config|errors)\.|streams\.\w+\.(?:pagination|cursor|signal|records)\b)/;

/** Secrets that were written into a description: it is kept with the code, and shown in errors. */
export function literalSecrets(description: unknown): Problem[] {
  return textsIn(description).flatMap(({ at, text }): Problem[] => {
    const path = at.map(String).join('.');
    const isFixed = namesIn(parseTemplate(text)).length === 0 && !text.includes(`\${env.`);
    const isNamed =
      isFixed && text.length >= minSecret && !places.test(path) && isSecretName(String(at.at(-1)));
    if (!isNamed && !secretValue.test(text)) return [];
    return [{ path: at, says: `looks like a secret, and a description is no place for one. ${remedy}` }];
  });
}

const remedy = `What belongs to a connection comes from its credential (auth); what belongs to the app is written \${env.NAME}.`;
