import type { Attributes, Meter, MeterProvider, MetricOptions } from '@opentelemetry/api';
import { pino } from 'pino';
import { createTelemetry, type Telemetry } from '../../src/telemetry/index.ts';
import { code, table } from './markdown.ts';

interface Instrument {
  kind: string;
  about: string;
  labels: Set<string>;
}

/** Every instrument of the engine, with the labels that its events record. */
export function metricsTable(): string {
  const instruments = recordInstruments();
  const rows = [...instruments].map(([name, { kind, about, labels }]) => [
    code(name),
    kind,
    [...labels].map(code).join(', '),
    about,
  ]);
  return table(['metric', 'kind', 'labels', 'what'], rows);
}

function recordInstruments(): Map<string, Instrument> {
  const instruments = new Map<string, Instrument>();
  const create = (kind: string) => (name: string, options?: MetricOptions) => {
    const instrument = { kind, about: options?.description ?? '', labels: new Set<string>() };
    instruments.set(name, instrument);
    const record = (_value: number, attributes: Attributes = {}) => {
      for (const label of Object.keys(attributes)) instrument.labels.add(label);
    };
    return { add: record, record };
  };
  const meter = {
    createCounter: create('counter'),
    createHistogram: create('histogram'),
    createGauge: create('gauge'),
  } as unknown as Meter;
  const meterProvider: MeterProvider = { getMeter: () => meter };
  const log = pino({ level: 'silent' });
  const options = { tenantLabel: true } as TelemetryOptions;
  const parts = { explain: String, monotonicMs: () => 0 };
  recordEvents(createTelemetry(log, options, parts, { meterProvider }));
  return instruments;
}

type TelemetryOptions = Parameters<typeof createTelemetry>[1];

/** The events whose instruments have labels. Their other fields reach no label. */
function recordEvents(telemetry: Telemetry): void {
  const connection = { id: 'id', tenantId: 'id', providerSlug: 'slug' };
  const placed = { connection, jitterSeconds: 1 } as Parameters<Telemetry['jobPlaced']>[0];
  telemetry.jobPlaced(placed, {} as Parameters<Telemetry['jobPlaced']>[1]);
  const job = { providerSlug: 'slug', type: 'full' } as Parameters<Telemetry['jobFinished']>[0];
  const verdict = { outcome: 'succeeded' } as Parameters<Telemetry['jobFinished']>[1];
  telemetry.jobFinished(job, verdict, { durationMs: 1, signals: 1 });
}
