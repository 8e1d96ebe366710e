import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { MeterProvider } from '@opentelemetry/sdk-metrics';
import { createSyncline, defineConnector, PermanentError } from 'syncline';

// `syncline start` serves /metrics without any of this. In your own process, metrics go to the OpenTelemetry
// provider that you register globally or pass here. Any other exporter works too.
const exporter = new PrometheusExporter({ preventServerStart: true, withoutScopeInfo: true });
const meterProvider = new MeterProvider({ readers: [exporter] });
const server = createServer((request, response) => exporter.getMetricsRequestHandler(request, response));
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

const tracker = defineConnector({
  provider: 'tracker',
  name: 'Tracker',
  sync: async ({ connection }) => {
    if (connection.externalId === 'broken') throw new PermanentError('The project does not exist.');
    return { signals: [{ kind: 'issue.opened', occurredAt: new Date(), payload: {} }] };
  },
});

const syncline = createSyncline({
  database: process.env.DATABASE_URL,
  connectors: [tracker],
  telemetry: { meterProvider },
  metrics: { tenantLabel: false }, // with many tenants: each label value is a time series
  log: { level: 'error' }, // keeps the engine's log out of this program's output
});
await syncline.migrate();

const tenant = await syncline.tenants.create({ name: 'Northwind' });
for (const externalId of ['apollo', 'gemini', 'broken'])
  await syncline.connections.create({ tenantId: tenant.id, provider: 'tracker', externalId });
await syncline.tick();
await syncline.drain();

const { port } = server.address() as AddressInfo;
const scraped = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
// Counters only: the histograms contain durations, which differ between runs.
for (const line of scraped.split('\n').sort()) if (/^sync_\w+_total/.test(line)) console.log(line);

server.close();
await syncline.stop();
await meterProvider.shutdown();
