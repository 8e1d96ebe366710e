/** What is stored of a credential, before it is encrypted. */
export type Secret =
  | { type: 'api_key'; key: string }
  | { type: 'basic'; username: string; password: string }
  | {
      type: 'oauth2';
      accessToken: string;
      refreshToken?: string | undefined;
      /** ISO-8601. */
      expiresAt?: string | undefined;
      scope?: string | undefined;
    }
  | { type: 'custom'; fields: Record<string, unknown> };

/** What a connector gets to see: never a refresh token. */
export type Credential = { id: string; generation: number } & (
  | { type: 'api_key'; key: string }
  | { type: 'basic'; username: string; password: string }
  | { type: 'oauth2'; accessToken: string; expiresAt: Date | undefined }
  | { type: 'custom'; fields: Record<string, unknown> }
);

/** How a run comes to its connection's credential. Nothing is read before it is asked for. */
export interface CredentialHandle {
  /** The id of the credential; undefined where the connection has none. */
  readonly id: string | undefined;
  /** One that can be used now: an OAuth 2 token that is about to expire was renewed, and stored, before. Throws UnauthorizedError where there is none. */
  get(): Promise<Credential>;
  /** The provider refused this one. Gives another if there is one or can be, or throws UnauthorizedError. */
  renew(refused: Credential): Promise<Credential>;
  /** Replaces the fields of a `custom` credential: for programs that renew tokens themselves. */
  save(fields: Record<string, unknown>): Promise<void>;
}

/** An app that is registered with a provider: who asks people for their consent. */
export interface OAuth2 {
  authorizationUrl: string;
  tokenUrl: string;
  clientId: string;
  clientSecret?: string | undefined;
  scopes?: readonly string[] | undefined;
  /** Further parameters of the authorization request, such as `access_type: 'offline'`. */
  authorizationParameters?: Readonly<Record<string, string>> | undefined;
  /** Where client id and secret go in a request for tokens: the body unless given. */
  clientAuthentication?: 'body' | 'basic' | undefined;
  /** Whether a connection without a credential runs too; otherwise it waits for its first one. */
  optional?: boolean | undefined;
}

/** Reason of an UnauthorizedError that no provider sent. */
export const noCredential = 'The connection has no credential.';
