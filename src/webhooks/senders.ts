/** Senders time out within seconds (Slack after three) and retry on an error status. */
export const senderTimeouts = { lockTimeoutMs: 2000, timeoutMs: 5000 };
