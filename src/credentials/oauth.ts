import { type CompleteContext, createComplete } from './complete.ts';
import { createStart } from './start.ts';

/** Shown before the redirect to the provider. */
export interface ConsentRequest {
  connectionId: string;
  /** The account's id at the provider. */
  externalId: string | undefined;
  tenantId: string;
  tenantName: string | undefined;
  providerName: string;
  providerHost: string;
  scopes: readonly string[];
  expiresAt: Date;
}

/** Where to redirect the browser: the provider's consent page. */
export interface StartedConsent {
  redirectTo: string;
  state: string;
  expiresAt: Date;
}

/** Query of the provider's redirect, and the browser that sent it. */
export interface ConsentCallback {
  state: string;
  code?: string | undefined;
  error?: string | undefined;
  /** As passed to `start`. */
  browser: string | undefined;
}

/** The outcome of a consent. */
export interface ConsentResult {
  connectionId: string;
  returnTo: string | undefined;
  /** Of RFC 6749 or of Syncline; undefined on success. */
  error: string | undefined;
}

/** The OAuth 2 flow of a link: RFC 6749 with PKCE (RFC 7636). */
export interface OAuthApi {
  /** Does not consume the link. */
  describe(link: string): Promise<ConsentRequest>;

  /**
   * Binds the flow to `browser`, a secret of 32 to 1000 characters in a cookie or session, required by
   * `complete`. Invalidates the previous state.
   */
  start(request: { link: string; browser: string }): Promise<StartedConsent>;

  /** Stores the tokens. A state is valid once, in its browser. */
  complete(callback: ConsentCallback): Promise<ConsentResult>;
}

export const createOAuth = (context: CompleteContext): OAuthApi => ({
  ...createStart(context),
  complete: createComplete(context),
});
