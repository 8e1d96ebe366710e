import { sum } from '../tools/text.ts';

export interface Trend {
  perHour: number;
  standardError: number;
  /** Half of the 95 % confidence interval of `perHour`. */
  margin: number;
  gained: number;
}

const minPoints = 4;

export function trendOf(points: { minute: number; value: number }[]): Trend | undefined {
  const count = points.length;
  if (count < minPoints) return undefined;
  const meanX = sum(points.map(({ minute }) => minute)) / count;
  const meanY = sum(points.map(({ value }) => value)) / count;
  const spreadX = sum(points.map(({ minute }) => (minute - meanX) ** 2));
  const slope = sum(points.map(({ minute, value }) => (minute - meanX) * (value - meanY))) / spreadX;
  const residuals = points.map(({ minute, value }) => value - meanY - slope * (minute - meanX));
  const freedom = count - 2;
  const variance = sum(residuals.map((residual) => residual ** 2)) / freedom;
  const standardError = 60 * Math.sqrt(variance / spreadX) * correlationFactor(residuals);
  return {
    perHour: slope * 60,
    standardError,
    margin: standardError * studentT(freedom),
    gained: slope * ((points.at(-1)?.minute ?? 0) - (points[0]?.minute ?? 0)),
  };
}

export const isRising = ({ perHour, margin }: Trend) => perHour - margin > 0;

/** Consecutive minutes are correlated, which increases the standard error by this factor. */
function correlationFactor(residuals: number[]): number {
  const all = sum(residuals.map((residual) => residual ** 2));
  if (all === 0) return 1;
  const neighbours = sum(residuals.slice(1).map((residual, i) => residual * (residuals[i] ?? 0)));
  const correlation = Math.min(0.9, Math.max(0, neighbours / all));
  return Math.sqrt((1 + correlation) / (1 - correlation));
}

/** Two-sided 95 % quantile of Student's t distribution, by its expansion around the normal distribution. */
function studentT(freedom: number): number {
  const z = 1.96;
  return (
    z +
    (z ** 3 + z) / (4 * freedom) +
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * freedom ** 2) +
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * freedom ** 3)
  );
}
