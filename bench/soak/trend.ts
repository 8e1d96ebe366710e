/** A straight line through what was measured each minute, and how sure it is. */
export interface Trend {
  perHour: number;
  /** Of `perHour`. */
  standardError: number;
  /** The true slope is within this of `perHour`, 95 times of 100. */
  margin: number;
  /** What the line gains from the first point to the last. */
  gained: number;
}

export interface Point {
  minute: number;
  value: number;
}

const fewestPoints = 4;

/** By least squares; undefined where there are too few points to say anything. */
export function trendOf(points: Point[]): Trend | undefined {
  if (points.length < fewestPoints) return undefined;
  const meanX = mean(points.map(({ minute }) => minute));
  const meanY = mean(points.map(({ value }) => value));
  const spreadX = sum(points.map(({ minute }) => (minute - meanX) ** 2));
  const slope = sum(points.map(({ minute, value }) => (minute - meanX) * (value - meanY))) / spreadX;
  const residuals = points.map(({ minute, value }) => value - meanY - slope * (minute - meanX));
  const freedom = points.length - 2;
  const variance = sum(residuals.map((residual) => residual ** 2)) / freedom;
  const standardError = Math.sqrt(variance / spreadX) * dependence(residuals);
  const lastX = points.at(-1)?.minute ?? 0;
  return {
    perHour: slope * 60,
    standardError: standardError * 60,
    margin: standardError * 60 * mostDeviations(freedom),
    gained: slope * (lastX - (points[0]?.minute ?? 0)),
  };
}

export const isRising = ({ perHour, margin }: Trend) => perHour - margin > 0;

/**
 * Minutes that follow each other are alike (a table stays as large as it was), so they say less than as many independent
 * ones would. This is by how much the error is larger than it seems.
 */
function dependence(residuals: number[]): number {
  const all = sum(residuals.map((residual) => residual ** 2));
  if (all === 0) return 1;
  const neighbours = sum(residuals.slice(1).map((residual, i) => residual * (residuals[i] ?? 0)));
  const likeness = Math.min(0.9, Math.max(0, neighbours / all));
  return Math.sqrt((1 + likeness) / (1 - likeness));
}

/** Student's t for 95 of 100, both sides, by its expansion around the normal distribution. */
function mostDeviations(freedom: number): number {
  const z = 1.96;
  return (
    z +
    (z ** 3 + z) / (4 * freedom) +
    (5 * z ** 5 + 16 * z ** 3 + 3 * z) / (96 * freedom ** 2) +
    (3 * z ** 7 + 19 * z ** 5 + 17 * z ** 3 - 15 * z) / (384 * freedom ** 3)
  );
}

const sum = (values: number[]) => values.reduce((total, value) => total + value, 0);
const mean = (values: number[]) => sum(values) / values.length;
