import { type GrowthResult, growthVariants, summarize } from '../growth/measure.ts';
import type { VariantName } from '../growth/variant.ts';
import { fixed, table, verdict, whole } from '../tools/text.ts';
import type { Findings } from './section.ts';

const labels: Record<VariantName, string> = { plain: 'without a snapshot', held: 'with a held snapshot' };
/** Minimum rate of the last minutes, relative to the first. */
const goals: Record<VariantName, number> = { plain: 0.9, held: 0.7 };

export function growth(result: GrowthResult): Findings {
  const { scale, minutes } = result;
  const variants = growthVariants
    .filter((name) => minutes.some(({ variant }) => variant === name))
    .map((name) => {
      const summary = summarize(result, name);
      return { name, summary, isMet: summary.lastToFirstByReference >= goals[name] };
    });
  const rows = variants.map(({ name, summary, isMet }) => [
    labels[name],
    whole(summary.syncs),
    fixed(2)(summary.lastToFirst),
    fixed(2)(summary.lastToFirstByReference),
    `≥ ${goals[name]}: ${verdict(isMet)}`,
    summary.claimMs.map(fixed(2)).join(' → '),
    whole(summary.totalBytes / 2 ** 20),
  ]);
  return {
    text: [
      `Full load over time: ${whole(scale.connections)} connections come due each minute, more than ${scale.processes} processes can run, for ${scale.minutes} minutes after a
warm-up of ${scale.warmUpMinutes}. The janitor deletes ended jobs after ${scale.retentionMinutes} minutes. One variant runs alone; in the other a transaction holds a
snapshot from the first minute to the last, so vacuum removes no dead rows. The last ${scale.comparedMinutes} minutes are compared with the first ${scale.comparedMinutes}.
The reference is the rate of SQL on new tables before each slice of ${scale.sliceMinutes} minutes; dividing by it separates a slower engine from a slower
machine. The variants alternate, so each slice starts with all connections overdue.`,
      table(['Load', 'syncs', 'last / first', 'by reference', 'goal', 'ms per claim', 'MB at the end'], rows),
      variants
        .map(
          ({ name, summary }) =>
            `- ${labels[name]}: tables and indexes grew by ${whole(summary.bytesPerMillionSyncs / 2 ** 20)} MB per million syncs in the second half; work ran out in ${summary.minutesWithoutWork} minutes.`,
        )
        .join('\n'),
    ].join('\n\n'),
    chart: {
      title: 'Full load over time',
      subtitle: 'Syncs per second; higher is better, and the goal is a constant rate',
      x: 'minutes of load',
      lines: variants.map(({ name }, color) => ({
        name: labels[name],
        color,
        points: minutes
          .filter(({ variant, minute }) => variant === name && minute > 0)
          .map(({ minute, syncsPerSecond }) => ({ x: minute, y: syncsPerSecond })),
      })),
    },
    goals: variants.map(({ name, summary, isMet }) => ({
      what: `Full load ${labels[name]}: last ${scale.comparedMinutes} of ${scale.minutes} minutes / first`,
      goal: `≥ ${goals[name]}`,
      found: fixed(2)(summary.lastToFirstByReference),
      isMet,
    })),
  };
}
