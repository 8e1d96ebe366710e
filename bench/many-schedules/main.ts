/** Measures what many recurring schedules cost: `node bench/many-schedules/main.ts [--quick]`, on Node 24. */
import { parseArgs } from 'node:util';
import { measureAlone } from '../tools/alone.ts';
import { manySchedulesScales, manySchedulesTable, measureManySchedules } from './measure.ts';

const { values: options } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
const scale = manySchedulesScales[options.quick ? 'quick' : 'full'];

await measureAlone('many-schedules', (bench) => measureManySchedules(bench, scale), manySchedulesTable);
