/** Senders time out (Slack after three seconds) and retry. */
export const senderTimeouts = { lockTimeoutMs: 2000, timeoutMs: 5000 };
