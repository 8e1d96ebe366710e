import { spawn } from 'node:child_process';
import { environmentWithoutSecrets } from '../dev/index.ts';
import { terminal } from './terminal.ts';

/** No shell: the URL is one argument. `start` calls `rundll32`. */
const openers: Partial<Record<NodeJS.Platform, [command: string, ...args: string[]]>> = {
  darwin: ['open'],
  win32: ['rundll32', 'url.dll,FileProtocolHandler'],
};

export function openBrowser(url: string): Promise<string | undefined> {
  const [command, ...args] = openers[process.platform] ?? ['xdg-open'];
  const { env } = terminal();
  return new Promise((resolve) => {
    const child = spawn(command, [...args, url], {
      env: { ...environmentWithoutSecrets(), PATH: env['PATH'] },
      stdio: 'ignore',
      detached: true,
    });
    child.once('error', (error: NodeJS.ErrnoException) =>
      resolve(error.code === 'ENOENT' ? `${command} is not installed` : error.message),
    );
    child.once('spawn', () => {
      child.unref();
      resolve(undefined);
    });
  });
}
