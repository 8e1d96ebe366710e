/** Pure constants: the dashboard imports them as well. */

export const jobTypes = ['incremental', 'full', 'webhook'] as const;
export type JobType = (typeof jobTypes)[number];

export const jobStatuses = ['queued', 'running', 'succeeded', 'failed', 'cancelled'] as const;
export type JobStatus = (typeof jobStatuses)[number];

export const connectionStatuses = ['active', 'paused', 'needs_auth', 'disabled'] as const;
export type ConnectionStatus = (typeof connectionStatuses)[number];

/** The status of a connection; an active one is `ok` or `failing`. */
export const connectionHealths = ['ok', 'failing', 'needs_auth', 'paused', 'disabled'] as const;
export type ConnectionHealth = (typeof connectionHealths)[number];
