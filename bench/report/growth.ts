import { type GrowthResult, minutesOf, summarize, type VariantName } from '../growth/measure.ts';
import { fixed, table, verdict, whole } from '../tools/text.ts';
import type { Section } from './section.ts';

const labels: Record<VariantName, string> = { plain: 'without a snapshot', held: 'with a held snapshot' };
const goals: Record<VariantName, number> = { plain: 0.9, held: 0.7 };

export function growth(result: GrowthResult): Section {
  const { scale, minutes } = result;
  const variants = (['plain', 'held'] as const)
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
  const notes = variants.map(
    ({ name, summary }) =>
      `- ${labels[name]}: tables and indexes grew by ${whole(summary.bytesPerMillionSyncs / 2 ** 20)} MB per million syncs in the second half; minutes without waiting jobs: ${summary.minutesWithoutWork}.`,
  );
  return {
    texts: {
      ...Object.fromEntries(Object.entries(scale).map(([key, value]) => [key, whole(value)])),
      table: [
        table(
          ['Load', 'syncs', 'last / first', 'by reference', 'goal', 'ms per claim', 'MB at the end'],
          rows,
        ),
        notes.join('\n'),
      ].join('\n\n'),
    },
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
      what: `Full load ${labels[name]}: last ${scale.comparedMinutes} of ${minutesOf(scale, name)} minutes / first`,
      goal: `≥ ${goals[name]}`,
      found: fixed(2)(summary.lastToFirstByReference),
      isMet,
    })),
  };
}
