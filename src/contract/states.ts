/** Pure constants: the dashboard imports them. */

export const jobTypes = ['incremental', 'full', 'webhook'] as const;
export type JobType = (typeof jobTypes)[number];

export const jobStatuses = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const;
export type JobStatus = (typeof jobStatuses)[number];

export const connectionStatuses = ['active', 'paused', 'needs_auth', 'disabled'] as const;
export type ConnectionStatus = (typeof connectionStatuses)[number];

/** An active connection is `ok` or `failing`. */
export const connectionHealths = ['ok', 'failing', 'needs_auth', 'paused', 'disabled'] as const;
export type ConnectionHealth = (typeof connectionHealths)[number];

export const eventKinds = [
  'connection.created',
  'connection.paused',
  'connection.resumed',
  'connection.interval_changed',
  'connection.schedule_changed',
  'connection.schedule_repaired',
  'connection.config_changed',
  'connection.credential_changed',
  'connection.rewound',
  'connection.triggered',
  'connection.needs_auth',
  'connection.authorization_requested',
  'connection.deletion_started',
  'connection.deleted',
  'credential.created',
  'credential.replaced',
  'credential.authorized',
  'credential.refused',
  'credential.deleted',
  'job.cancelled',
  'job.retried',
  'job.poisoned',
  'webhook.created',
  'webhook.deleted',
  'consumer.moved',
  'consumer.deleted',
  'tenant.created',
  'provider.registered',
  'key.created',
  'key.revoked',
  'key.refused',
  'session.opened',
  'session.closed',
  'session.refused',
] as const;
export type EventKind = (typeof eventKinds)[number];
