import { defineConfig } from 'syncline';
import { tracker } from './tracker.ts';

/** Commands of `syncline` read this file from the working directory, and the database from DATABASE_URL. */
export default defineConfig({ connectors: [tracker], log: { level: 'warn' } });
