/**
 * Measures whether a full load slows down with time:
 * `node bench/growth/main.ts [--minutes 120] [--variant plain|held|both] [--quick]`, on Node 24.
 */
import { parseArgs } from 'node:util';
import { countingSettings } from '../executor/statements.ts';
import { measureAlone } from '../tools/alone.ts';
import { growthScales, growthTable, measureGrowth } from './measure.ts';
import type { VariantName } from './variant.ts';

const { values: options } = parseArgs({
  options: {
    quick: { type: 'boolean', default: false },
    minutes: { type: 'string' },
    variant: { type: 'string', default: 'both' },
  },
});
const usual = growthScales[options.quick ? 'quick' : 'full'];
const variants = options.variant === 'both' ? usual.variants : [options.variant as VariantName];
const scale = { ...usual, variants, minutes: Number(options.minutes ?? usual.minutes) };

await measureAlone('growth', (bench) => measureGrowth(bench, scale), growthTable, countingSettings);
