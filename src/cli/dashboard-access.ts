import type { Logger } from 'pino';
import { describeError } from '../contract/errors.ts';
import type { LocalLogin } from '../http/index.ts';
import { type BlockRow, printBlock } from './block.ts';
import { listenForKeys } from './keyboard.ts';
import { localUrl, loginUrl } from './local-server.ts';
import { openBrowser } from './open-browser.ts';
import { publishServer } from './server-file.ts';
import { terminal } from './terminal.ts';

export interface DashboardAccessOptions {
  url: string;
  localLogin: LocalLogin;
  log: Logger;
  /** False: the log is JSON. */
  readable: boolean;
  /** False: print the address only. */
  showsLink: boolean;
  tips: readonly string[];
}

/** Returns a function that ends key input and `syncline dashboard`. */
export function offerDashboard(options: DashboardAccessOptions): () => void {
  const { localLogin, log, readable, showsLink, tips } = options;
  const url = localUrl(options.url);
  const unpublish = publish();
  if (!readable) {
    log.info({ url }, `dashboard at ${url}; for a login link, run in this directory: syncline dashboard`);
    return unpublish;
  }
  const newLink = () => loginUrl(url, localLogin.issue());
  const open = async () => {
    const failure = await openBrowser(newLink());
    if (failure === undefined) log.info('opened the dashboard in the browser');
    else log.warn(`could not open a browser: ${failure}. For a login link, run: syncline dashboard`);
  };
  const show = (rows: BlockRow[] = []) =>
    printBlock([
      ['Dashboard', showsLink ? newLink() : url],
      ['', showsLink ? 'one-time link; `syncline dashboard` prints a new one' : loginHint],
      ...rows,
    ]);
  const keyRows: BlockRow[] = [
    ['Keys', 'o  open the dashboard in the browser'],
    ['', 'h  show the URL and these keys'],
    ['', 'q  stop (also Ctrl-C)'],
  ];
  const tipRows: BlockRow[] = tips.map((tip, i) => [i === 0 ? 'Try' : '', tip]);
  const help = () => show([...keyRows, ...tipRows]);
  const stopKeys = listenForKeys({ o: () => void open(), h: help, '?': help });
  show([...(stopKeys ? [['Keys', 'o open · h help · q stop'] satisfies BlockRow] : []), ...tipRows]);
  return () => {
    stopKeys?.();
    unpublish();
  };

  /** Optional: the file system may be read-only. */
  function publish(): () => void {
    try {
      return publishServer(terminal().cwd, { url, secret: localLogin.secret });
    } catch (error) {
      log.debug(`\`syncline dashboard\` is not available: ${describeError(error)}`);
      return () => {};
    }
  }
}

const loginHint = '`syncline dashboard` prints a login link; or use a key from `syncline keys create`';
