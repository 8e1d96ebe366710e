import type { Authenticate } from 'syncline/web';

/** Replace it with the session of your application. Without `tenantId`, users see all tenants. */
export const authenticate: Authenticate = (request) => {
  const user = /(?:^|; )user=([^;]+)/.exec(request.headers.get('cookie') ?? '')?.[1];
  return user === 'admin@example.com' ? { actor: user } : undefined;
};
