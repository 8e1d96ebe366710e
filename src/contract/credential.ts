/** Secret in plain text. */
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

export const secretTypes = ['api_key', 'basic', 'oauth2', 'custom'] as const satisfies Secret['type'][];

/** For connectors: without refresh token. */
export type Credential = { id: string; generation: number } & (
  | { type: 'api_key'; key: string }
  | { type: 'basic'; username: string; password: string }
  | { type: 'oauth2'; accessToken: string; expiresAt: Date | undefined }
  | { type: 'custom'; fields: Record<string, unknown> }
);

/** Access to the connection's credential during a run. */
export interface CredentialHandle {
  readonly id: string | undefined;
  /** Refreshes an expiring OAuth 2 token. Throws UnauthorizedError without a usable one. */
  get(): Promise<Credential>;
  /** After `refused` was rejected: a newer one, or throws UnauthorizedError. */
  renew(refused: Credential): Promise<Credential>;
  /** Replaces a `custom` credential's fields, for connectors that refresh tokens. */
  save(fields: Record<string, unknown>): Promise<void>;
}

/** OAuth 2 client registered with the provider. */
export interface OAuth2 {
  authorizationUrl: string;
  tokenUrl: string;
  clientId: string;
  clientSecret?: string | undefined;
  scopes?: readonly string[] | undefined;
  /** Of the authorization request, such as `access_type: 'offline'`. */
  authorizationParameters?: Readonly<Record<string, string>> | undefined;
  /** Where client id and secret go; default: body. */
  clientAuthentication?: 'body' | 'basic' | undefined;
  /** Run connections without a credential. */
  optional?: boolean | undefined;
}

export const noCredential = 'The connection has no credential.';
