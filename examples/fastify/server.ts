import Fastify from 'fastify';
import { createPlugin } from 'syncline/fastify';
import { authenticate } from './session.ts';
import { syncline } from './syncline.ts';

const stopping = new AbortController();
const app = Fastify();
app.get('/', () => 'My application');
const plugin = createPlugin(syncline, { authenticate, signal: stopping.signal });
await app.register(plugin, { prefix: '/admin/sync' });

await syncline.migrate();
await syncline.start();
await app.listen({ port: Number(process.env.PORT ?? 3000), host: '127.0.0.1' });
export const { server } = app;

process.once('SIGTERM', async () => {
  stopping.abort(); // ends live streams, so that the server can close
  await app.close();
  await syncline.stop();
});
