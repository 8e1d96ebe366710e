export { briefError, createLogger } from './log.ts';
export type { MetricsServer } from './prometheus.ts';
export { createRunLog } from './run-log.ts';
export { createTelemetry, type Telemetry, type TelemetryProviders } from './telemetry.ts';
