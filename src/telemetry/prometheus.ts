import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { MeterProvider } from '@opentelemetry/api';
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { MeterProvider as SdkMeterProvider } from '@opentelemetry/sdk-metrics';
import { SynclineError } from '../errors.ts';

export interface MetricsServer {
  meterProvider: MeterProvider;
  url: string;
  /** What it serves, for whoever serves it elsewhere too. */
  text(): Promise<string>;
  close(): Promise<void>;
}

/** Serves what a meter provider of its own collects at /metrics, in the Prometheus text format. */
export async function startMetricsServer(listen: { host: string; port: number }): Promise<MetricsServer> {
  const exporter = new PrometheusExporter({
    preventServerStart: true,
    withoutScopeInfo: true,
    withoutTargetInfo: true,
  });
  const provider = new SdkMeterProvider({ readers: [exporter] });
  const serializer = new PrometheusSerializer(undefined, false, undefined, true, true);
  const server = createServer((request, response) => {
    if (request.method === 'GET' && request.url?.split('?')[0] === '/metrics') {
      exporter.getMetricsRequestHandler(request, response);
    } else {
      response.writeHead(404, { 'content-type': 'text/plain' }).end('Metrics are at /metrics.\n');
    }
  });
  await listenOn(server, listen);
  const { address, family, port } = server.address() as AddressInfo;
  return {
    meterProvider: provider,
    url: `http://${family === 'IPv6' ? `[${address}]` : address}:${port}/metrics`,
    text: async () => serializer.serialize((await exporter.collect()).resourceMetrics),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await provider.shutdown();
    },
  };
}

function listenOn(server: Server, { host, port }: { host: string; port: number }): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      reject(
        new SynclineError('CONFIG_INVALID', `Metrics cannot be served on ${host}:${port} (${cause.code}).`, {
          hint: 'Set SYNCLINE_METRICS_PORT to a free port, or to 0 to pick one.',
          cause,
        }),
      );
    });
    server.listen(port, host, resolve);
  });
}
