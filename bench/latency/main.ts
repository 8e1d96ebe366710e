/** Measures how soon something happens that was asked for: `node bench/latency/main.ts [--quick]`, on Node 24. */
import { parseArgs } from 'node:util';
import { measureAlone } from '../tools/alone.ts';
import { latencyScales, latencyTable, measureLatency } from './measure.ts';

const { values: options } = parseArgs({ options: { quick: { type: 'boolean', default: false } } });
const scale = latencyScales[options.quick ? 'quick' : 'full'];

await measureAlone('latency', (bench) => measureLatency(bench, scale), latencyTable);
