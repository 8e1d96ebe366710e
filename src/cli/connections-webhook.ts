import type { Command } from 'commander';
import { webhookJson } from '../api/index.ts';
import type { AuditNote } from '../caller/audit.ts';
import { invalid } from '../values/arguments.ts';
import { type CommonOptions, withEngine } from './engine.ts';
import { doerOf, given, withDoer } from './options.ts';
import { answer } from './output.ts';

interface WebhookOptions extends CommonOptions, AuditNote {
  secretFromEnv?: string;
  rotate?: boolean;
  remove?: boolean;
}

export function addConnectionsWebhook(group: Command): void {
  const command = group
    .command('webhook')
    .description('give a connection a webhook, with a secret that is shown once, or show the one it has')
    .argument('<id>', 'the id of the connection')
    .option('--secret-from-env <name>', 'take the secret from this variable, where the provider makes it')
    .option('--rotate', 'make a new secret; the old one counts no longer')
    .option('--remove', 'take the webhook away');
  withDoer(command)
    .addHelpText(
      'after',
      `
Examples:
  $ syncline connections webhook 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42
  $ SECRET=… syncline connections webhook 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --secret-from-env SECRET
  $ syncline connections webhook 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --rotate
  $ syncline connections webhook 0190f5e2-7c1a-7000-8000-5f1e0c3a9b42 --remove`,
    )
    .action(async (id: string, options: WebhookOptions) => {
      const { remove, rotate, secretFromEnv } = options;
      if ([remove, rotate, secretFromEnv].filter((one) => one !== undefined).length > 1)
        throw invalid(
          'A secret is either given, made anew or taken away.',
          'Give one of --secret-from-env, --rotate and --remove.',
        );
      await (remove ? removeWebhook(id, options) : createWebhook(id, options));
    });
}

async function createWebhook(id: string, options: WebhookOptions): Promise<void> {
  const secret = secretOf(options.secretFromEnv);
  const isKept = secret === undefined && !options.rotate;
  const { made, publicUrl } = await withEngine(options, async ({ webhooks, config }) => {
    const known = isKept ? await webhooks.get(id) : undefined;
    const { publicUrl } = config.server;
    // What signs with the old secret would be refused from now on: nobody wants that of a look.
    if (known?.exists) return { made: { ...known, secret: undefined }, publicUrl };
    return { made: await webhooks.create(id, { ...given({ secret }), ...doerOf(options) }), publicUrl };
  });
  const where = publicUrl
    ? `${publicUrl.replace(/\/+$/, '')}${made.path}`
    : `${made.path}, behind the address of this service`;
  // One that was given is known already, and had better not stand in a terminal.
  const shown = secret === undefined && made.secret !== undefined ? { secret: made.secret } : {};
  answer(options.json, { ...webhookJson(made), ...shown }, () => [
    `Have the provider send to ${where}.`,
    ...(shown.secret === undefined
      ? [secret === undefined ? known(made.lastReceivedAt) : 'It is to sign with the secret that you gave.']
      : [`It is to sign with this secret: ${shown.secret}`, 'Keep it now: it is not shown again.']),
  ]);
}

const known = (lastReceivedAt: Date | undefined) =>
  `It signs with the secret that was shown when it was made (--rotate makes a new one); ${
    lastReceivedAt ? `it last sent something at ${lastReceivedAt.toISOString()}` : 'it has sent nothing yet'
  }.`;

async function removeWebhook(id: string, options: WebhookOptions): Promise<void> {
  await withEngine(options, ({ webhooks }) => webhooks.remove(id, doerOf(options)));
  answer(options.json, { connection_id: id, exists: false }, () => [
    `Connection ${id} has no webhook any more. What is still sent is refused.`,
  ]);
}

function secretOf(name: string | undefined): string | undefined {
  if (name === undefined) return undefined;
  const secret = process.env[name];
  if (!secret) throw invalid(`The environment variable ${name.slice(0, 80)} is not set.`);
  return secret;
}
