#!/usr/bin/env node
import { describeError } from '../contract/errors.ts';
import { version } from '../platform/version.inline.ts';
import { stripControl } from '../values/terminal-text.ts';
import { runCli } from './run.ts';
import { processTerminal } from './terminal.ts';

// `head` may close the pipe.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

// A connector may throw after its run; Node would print requests and rows attached to the error.
process.on('uncaughtException', (error: unknown) => {
  const stack = error instanceof Error ? `${error.stack}\n` : '';
  process.stderr.write(`error: ${stripControl(describeError(error))}\n${stack}`);
  process.exit(1);
});

const code = await runCli(processTerminal, version);
// An ignored abort signal, or a login without a password, would keep the process alive.
process.stdout.write('', () => process.exit(code));
