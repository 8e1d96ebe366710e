import type { Command } from 'commander';
import { type AuditNote, webhookJson } from '../index.ts';
import { invalid } from '../values/arguments.ts';
import { omitUndefined } from '../values/omit-undefined.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { auditNoteOf, unsetVariable, withAuditNote } from './options.ts';
import { printResult } from './output.ts';
import { terminal } from './terminal.ts';

interface WebhookOptions extends CommonOptions, AuditNote {
  secretFromEnv?: string;
  rotate?: boolean;
  delete?: boolean;
}

export function addConnectionsWebhook(group: Command): void {
  const command = group
    .command('webhook')
    .description('create a webhook for a connection and print its secret once, or show the existing one')
    .argument('<id>', 'connection ID')
    .option('--secret-from-env <name>', 'environment variable with a secret issued by the provider')
    .option('--rotate', 'create a new secret and invalidate the old one')
    .option('--delete', 'delete the webhook');
  withAuditNote(command)
    .addHelpText(
      'after',
      `
Examples:
  $ syncline connections webhook 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42
  $ SECRET=… syncline connections webhook 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --secret-from-env SECRET
  $ syncline connections webhook 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --rotate
  $ syncline connections webhook 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --delete`,
    )
    .action(async (id: string, options: WebhookOptions) => {
      const { delete: isDeletion, rotate, secretFromEnv } = options;
      if ([isDeletion, rotate, secretFromEnv].filter((option) => option !== undefined).length > 1)
        throw invalid(
          '--secret-from-env, --rotate and --delete cannot be combined.',
          'Pass only one of --secret-from-env, --rotate and --delete.',
        );
      await (isDeletion ? deleteWebhook(id, options) : createWebhook(id, options));
    });
}

async function createWebhook(id: string, options: WebhookOptions): Promise<void> {
  const secret = secretOf(options.secretFromEnv);
  const keepsSecret = secret === undefined && !options.rotate;
  const { webhook, publicUrl } = await withEngine(options, async ({ webhooks, config }) => {
    const existing = keepsSecret ? await webhooks.get(id) : undefined;
    const { publicUrl } = config.server;
    // A new secret would reject deliveries signed with the old one.
    if (existing?.exists) return { webhook: { ...existing, secret: undefined }, publicUrl };
    return {
      webhook: await webhooks.create(id, { ...omitUndefined({ secret }), ...auditNoteOf(options) }),
      publicUrl,
    };
  });
  const url = publicUrl
    ? `${publicUrl.replace(/\/+$/, '')}${webhook.path}`
    : `https://<public host>${webhook.path} (set server.publicUrl to print the full URL)`;
  // Do not print a secret from the environment.
  const shown = secret === undefined && webhook.secret !== undefined ? { secret: webhook.secret } : {};
  printResult(options.json, { ...webhookJson(webhook), ...shown }, () => [
    `Configure the provider to send deliveries to ${url}.`,
    ...(shown.secret === undefined
      ? [
          secret === undefined
            ? existingSecret(webhook.lastReceivedAt)
            : `Signing secret: from ${options.secretFromEnv}.`,
        ]
      : [`Signing secret: ${shown.secret}`, 'Save it now: it is not shown again.']),
  ]);
}

const existingSecret = (lastReceivedAt: Date | undefined) =>
  `Signing secret: unchanged (--rotate creates a new one). ${
    lastReceivedAt ? `Last delivery: ${lastReceivedAt.toISOString()}` : 'No deliveries yet'
  }.`;

async function deleteWebhook(id: string, options: WebhookOptions): Promise<void> {
  await withEngine(options, ({ webhooks }) => webhooks.delete(id, auditNoteOf(options)));
  printResult(options.json, { connection_id: id, exists: false }, () => [
    `Deleted the webhook of connection ${id}. Further deliveries are rejected.`,
  ]);
}

function secretOf(name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const secret = terminal().env[name];
  if (!secret) throw unsetVariable('--secret-from-env', name);
  return secret;
}
