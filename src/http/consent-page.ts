import type { ConsentRequest } from '../index.ts';
import { escapeHtml, shell } from './page.ts';

/** Tenants choose names: <bdi> isolates text direction. */
const maxName = 200;
const name = (text: string) =>
  `<bdi>${escapeHtml(text.length > maxName ? `${text.slice(0, maxName)}…` : text)}</bdi>`;

export function consentPage(request: ConsentRequest, fields: Record<string, string>): string {
  const { providerName, providerHost, tenantName, tenantId, externalId, connectionId, scopes } = request;
  const tenant = name(tenantName ?? tenantId);
  const provider = name(providerName);
  const rows = [
    ['Access for', tenant],
    ['Provider', `${provider} (${escapeHtml(providerHost)})`],
    ['Connection', name(externalId ?? connectionId)],
    ...(scopes.length > 0 ? [['Permissions', escapeHtml(scopes.join(' '))]] : []),
  ];
  const inputs = Object.entries(fields)
    .map(([key, value]) => `<input type="hidden" name="${escapeHtml(key)}" value="${escapeHtml(value)}">`)
    .join('');
  return shell(
    `Connect ${providerName.slice(0, maxName)}`,
    `<p><strong>${tenant}</strong> asks for access to your ${provider} account.</p>
<dl>
${rows.map(([term, value]) => `<dt>${term}</dt><dd>${value}</dd>`).join('\n')}
</dl>
<p>If you continue, ${provider} asks you to sign in and approve.
${tenant} then gets access to the account you choose.</p>
<form method="post" action="consent">${inputs}
<button type="submit">Continue to ${provider}</button>
</form>
<p class="soft">Continue only if you started this yourself.
If you received this link unexpectedly, close this page.</p>`,
  );
}
