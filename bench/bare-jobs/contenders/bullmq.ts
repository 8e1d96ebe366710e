import { openQueue, openWorker } from '../../peers/bullmq.ts';
import { obey } from '../../tools/obey.ts';

const addedAtOnce = 5000;
let url: string;
let queue: ReturnType<typeof openQueue<{ id: number }>>;
let worker: ReturnType<typeof openWorker<{ id: number }>> | undefined;

obey({
  prepare: async (address) => {
    const installer = openQueue(address);
    await installer.waitUntilReady();
    await installer.close();
  },
  open: async (address) => {
    url = address;
    queue = openQueue(url);
    await queue.waitUntilReady();
  },
  add: async (jobs) => {
    for (let first = 0; first < jobs; first += addedAtOnce) {
      const count = Math.min(addedAtOnce, jobs - first);
      await queue.addBulk(
        Array.from({ length: count }, (_, i) => ({ name: 'sync', data: { id: first + i } })),
      );
    }
  },
  run: async (report) => {
    worker = openWorker(url, async () => report(1));
    await worker.waitUntilReady();
    void worker.run();
  },
  close: async () => {
    await worker?.close();
    await queue.close();
    worker = undefined;
  },
});
