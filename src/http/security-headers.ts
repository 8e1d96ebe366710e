/** On every answer, unless its route sets another: only the consent page does. */
export const securityHeaders = {
  'content-security-policy':
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'self'; form-action 'self'",
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

/**
 * Of a page whose form leads to a provider. Browsers apply `form-action` to every redirect that follows, through the
 * provider's own pages and back to the customer's product, so it cannot be listed. With `no-referrer` they would send
 * `Origin: null` with the form.
 */
export const consentHeaders = {
  'content-security-policy':
    "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'; base-uri 'none'",
  'referrer-policy': 'same-origin',
};
