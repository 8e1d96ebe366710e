/** Senders time out (Slack after three seconds) and retry on an error status. */
export const senderTimeouts = { lockTimeoutMs: 2000, timeoutMs: 5000 };
