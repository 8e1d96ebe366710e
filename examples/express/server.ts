import express from 'express';
import { createHandler } from 'syncline/express';
import { authenticate } from './session.ts';
import { syncline } from './syncline.ts';

const stopping = new AbortController();
const app = express();
// Before express.json(): webhook signatures cover the bytes of the body.
app.use('/admin/sync', createHandler(syncline, { authenticate, signal: stopping.signal }));
app.use(express.json());
app.get('/', (_request, response) => void response.send('My application'));

await syncline.migrate();
await syncline.start();
export const server = app.listen(Number(process.env.PORT ?? 3000));

process.once('SIGTERM', async () => {
  stopping.abort(); // ends live streams, so that the server can close
  server.close();
  await syncline.stop();
});
