import { execFileSync, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';

/** Starts `syncline start`, as your deployment does, and returns the address of its API and an operator key. */
export async function startService() {
  execFileSync('syncline', ['migrate']);
  const name = `example of ${new Date().toISOString()}`; // names of valid keys are unique
  const created = execFileSync('syncline', ['keys', 'create', '--operator', '--name', name, '--json']);
  const { key } = JSON.parse(created.toString()) as { key: string };

  // Port 0: any free port. The default is 4400.
  const env = { ...process.env, SYNCLINE_SERVER_PORT: '0', SYNCLINE_METRICS_PORT: '0' };
  const service = spawn('syncline', ['start', '--json'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  // Keeps reading until the end: a full pipe would block the service.
  const url = await new Promise<string>((resolve, reject) => {
    createInterface({ input: service.stdout }).on('line', (line) => {
      const { msg, url } = JSON.parse(line) as { msg: string; url?: string };
      if (url && msg.startsWith('API at')) resolve(url);
    });
    service.once('exit', (code) => reject(new Error(`syncline start exited with ${code}.`)));
  });
  return {
    url,
    key,
    async stop() {
      if (service.exitCode !== null) return;
      const exited = new Promise((resolve) => service.once('exit', resolve));
      service.kill('SIGTERM'); // lets current work commit
      await exited;
    },
  };
}
