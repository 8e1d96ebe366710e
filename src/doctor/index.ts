export { type CheckResult, type Examination, examine } from './doctor.ts';
export { withMissingGrants } from './grants.ts';
export { describeRepair } from './repair.ts';
