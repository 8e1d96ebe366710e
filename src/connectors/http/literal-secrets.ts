import { isSecretName } from '../../values/redact.ts';
import type { Problem } from './problems.ts';
import { namesIn, parseTemplate, textsIn } from './templates.ts';

const secretValue =
  /^(?:Bearer|Basic|Token) \S{8,}|\b(?:sk|rk|pk)_(?:live|test)_\w{8,}|\bgh[pousr]_\w{16,}|\bgithub_pat_\w{16,}|\bglpat-[\w-]{16,}|\bxox[abprs]-[\w-]{8,}|\beyJ[\w-]{10,}\.[\w-]{10,}\.|\bAKIA[A-Z\d]{12,}|-----BEGIN/;

/** `true` or `v2` are no secrets. */
const minSecret = 8;

/** Secret-like names that hold none. */
const places = /^(?:(?:auth|budgets|config|errors)\.|streams\.\w+\.(?:pagination|cursor|signal|records)\b)/;

/** Descriptions are committed and quoted in errors. */
export function literalSecrets(description: unknown): Problem[] {
  return textsIn(description).flatMap(({ at, text }): Problem[] => {
    const path = at.map(String).join('.');
    const isFixed = namesIn(parseTemplate(text)).length === 0 && !text.includes(`\${env.`);
    const isNamed =
      isFixed && text.length >= minSecret && !places.test(path) && isSecretName(String(at.at(-1)));
    if (!isNamed && !secretValue.test(text)) return [];
    return [{ path: at, message: `looks like a secret; a description must not contain any. ${remedy}` }];
  });
}

const remedy = `Use the connection's credential (auth) or, for secrets of the app, \${env.NAME}.`;
