import { createHash, randomBytes } from 'node:crypto';

/** 256 random bits: a plain SHA-256 of it needs no salt or stretching. */
export const newSecret = () => randomBytes(32).toString('base64url');
export const hashOf = (secret: string) => createHash('sha256').update(secret).digest();

export const keyStart = 'syn_';
export const publicPrefixLength = 10;

/** Undefined for other text, which may be a password. */
export const publicPrefix = (secret: string) =>
  /^syn_[\w-]{43}$/.test(secret) ? secret.slice(0, publicPrefixLength) : undefined;
