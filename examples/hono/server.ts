import type { Server } from 'node:http';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { createHandler } from 'syncline/hono';
import { authenticate } from './session.ts';
import { syncline } from './syncline.ts';

const stopping = new AbortController();
const app = new Hono();
app.get('/', (c) => c.text('My application'));
app.all('/admin/sync/*', createHandler(syncline, { authenticate, signal: stopping.signal }));

await syncline.migrate();
await syncline.start();
export const server = serve({ fetch: app.fetch, port: Number(process.env.PORT ?? 3000) }) as Server;

process.once('SIGTERM', async () => {
  stopping.abort(); // ends live streams, so that the server can close
  server.close();
  await syncline.stop();
});
