/** A budget of one credential, as a connector states it. */
export const testBudget = (stated: number, periodSeconds: number) => ({
  key: 'p/b/c',
  tenantId: 't',
  provider: 'p',
  credentialId: 'c',
  name: 'b',
  stated,
  periodSeconds,
});
