/** Where a value lies on an axis, and which values the axis names. */
export interface Scale {
  ticks: number[];
  /** The pixel of a value. On a log axis, what has no logarithm lies at the lower end. */
  at(value: number): number;
}

export interface ScaleOptions {
  values: number[];
  kind: 'linear' | 'log';
  /** The pixels of the least and the most value. */
  from: number;
  to: number;
  /** A linear axis begins at zero, so that lengths can be compared. */
  zero?: boolean;
  /** The axis ends at a tick instead of at the outermost value. */
  round?: boolean;
}

/** How far a value spread, or only the value where that is unknown. */
export function spreadOf(value: number, least = value, most = value): [number, number] {
  return [Number.isFinite(least) ? least : value, Number.isFinite(most) ? most : value];
}

const mostTicks = 7;

export function scaleOf({ values, kind, from, to, zero = false, round = false }: ScaleOptions): Scale {
  const log = kind === 'log';
  const known = values.filter((value) => Number.isFinite(value) && (!log || value > 0));
  const [low, high] = log ? logDomain(known, round) : linearDomain(known, zero, round);
  const map = log ? Math.log10 : (value: number) => value;
  const at = (value: number) => {
    const part = (map(log ? Math.max(value, low) : value) - map(low)) / (map(high) - map(low));
    return from + (to - from) * part;
  };
  return { ticks: log ? logTicks(low, high) : linearTicks(low, high), at };
}

function linearDomain(values: number[], zero: boolean, round: boolean): [number, number] {
  let low = values.length === 0 ? 0 : Math.min(...values);
  let high = values.length === 0 ? 1 : Math.max(...values);
  if (zero || areOne(low, high)) [low, high] = [Math.min(0, low), Math.max(0, high)];
  if (low === high) high = 1;
  if (!round) return [low, high];
  const step = stepOf(low, high);
  return [Math.floor(low / step) * step, Math.ceil(high / step - 1e-9) * step];
}

function logDomain(values: number[], round: boolean): [number, number] {
  const low = values.length === 0 ? 1 : Math.min(...values);
  const high = values.length === 0 ? 10 : Math.max(...values);
  if (areOne(low, high)) return [low / 2, high * 2];
  if (!round) return [low, high];
  const steps = stepsOfDecades(low, high, [1, 2, 5]);
  return [
    steps.findLast((step) => step <= low * (1 + 1e-9)) ?? low,
    steps.find((step) => step >= high * (1 - 1e-9)) ?? high,
  ];
}

/** So near to each other that ticks between them would read the same. */
function areOne(low: number, high: number): boolean {
  return high - low <= 1e-4 * Math.abs(high);
}

/** 1, 2 or 5 times a power of ten. */
function stepOf(low: number, high: number): number {
  const rough = (high - low) / (mostTicks - 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * ([1, 2, 5].find((factor) => factor * power >= rough * (1 - 1e-9)) ?? 10);
}

function linearTicks(low: number, high: number): number[] {
  const step = stepOf(low, high);
  const first = Math.ceil(low / step - 1e-9);
  const count = Math.floor(high / step + 1e-9) - first + 1;
  return Array.from({ length: count }, (_, i) => exact((first + i) * step));
}

/** The coarsest steps that give the eye at least three values to hold on to. */
function logTicks(low: number, high: number): number[] {
  const within = (step: number) => step >= low * (1 - 1e-9) && step <= high * (1 + 1e-9);
  for (const factors of [[1], [1, 2, 5], [1, 2, 3, 4, 5, 6, 7, 8, 9]]) {
    const steps = stepsOfDecades(low, high, factors).filter(within);
    const every = Math.ceil(steps.length / (2 * mostTicks));
    if (steps.length >= 3) return steps.filter((_, i) => i % every === 0);
  }
  return linearTicks(low, high);
}

function stepsOfDecades(low: number, high: number, factors: number[]): number[] {
  const first = Math.floor(Math.log10(low));
  const count = Math.ceil(Math.log10(high)) - first + 1;
  return Array.from({ length: count }, (_, i) =>
    factors.map((factor) => exact(factor * 10 ** (first + i))),
  ).flat();
}

function exact(value: number): number {
  return Number(value.toPrecision(12));
}
