import { defineConfig } from 'syncline';
import { tracker } from './tracker.ts';

/** `syncline start` reads this file from the working directory, and the database from DATABASE_URL. */
export default defineConfig({ connectors: [tracker] });
