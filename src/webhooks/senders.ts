/** How long what a delivery waits for may take: senders give up within seconds (Slack after three), and come again if they are told to. */
export const sendersPatience = { lockTimeoutMs: 2000, timeoutMs: 5000 };
