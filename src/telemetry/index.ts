export type { LossReason } from './executor.ts';
export { createRunLog } from './run-log.ts';
export { createTelemetry, type Telemetry, type TelemetryProviders } from './telemetry.ts';
