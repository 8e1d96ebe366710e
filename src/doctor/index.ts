export { type CheckResult, type DoctorReport, examine } from './doctor.ts';
export { withMissingGrants } from './grants.ts';
export { repairFeedAtStart } from './repair.ts';
