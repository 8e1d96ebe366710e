import { getSyncline } from './lib/syncline';

const syncline = getSyncline();
await syncline.migrate();
await syncline.start();

// NEXT_MANUAL_SIG_HANDLE leaves the signal to this handler: running jobs end before the process.
process.once('SIGTERM', async () => {
  await syncline.stop();
  process.exit(0);
});
