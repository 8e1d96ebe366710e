import { createServer } from 'node:http';
import type { MeterProvider } from '@opentelemetry/api';
import { PrometheusExporter, PrometheusSerializer } from '@opentelemetry/exporter-prometheus';
import { MeterProvider as SdkMeterProvider } from '@opentelemetry/sdk-metrics';
import { listenOn } from '../platform/listen.ts';

export interface MetricsServer {
  meterProvider: MeterProvider;
  url: string;
  text(): Promise<string>;
  close(): Promise<void>;
}

export async function startMetricsServer(listen: { host: string; port: number }): Promise<MetricsServer> {
  const exporter = new PrometheusExporter({
    preventServerStart: true,
    withoutScopeInfo: true,
    withoutTargetInfo: true,
  });
  const provider = new SdkMeterProvider({ readers: [exporter] });
  const serializer = new PrometheusSerializer(undefined, false, undefined, true, true);
  const server = createServer((request, response) => {
    const path = request.method === 'GET' ? request.url?.split('?')[0] : undefined;
    if (path === '/metrics') exporter.getMetricsRequestHandler(request, response);
    // Without the role `server`.
    else if (path === '/healthz')
      response.writeHead(200, { 'content-type': 'application/json' }).end('{"status":"ok"}\n');
    else
      response
        .writeHead(404, { 'content-type': 'text/plain' })
        .end('Metrics are at /metrics, the liveness check at /healthz.\n');
  });
  const url = await listenOn(server, listen, {
    served: 'Metrics',
    portVariable: 'SYNCLINE_METRICS_PORT',
  });
  return {
    meterProvider: provider,
    url: `${url}/metrics`,
    text: async () => serializer.serialize((await exporter.collect()).resourceMetrics),
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
      await provider.shutdown();
    },
  };
}
