import { useEffect, useRef, useState } from 'preact/hooks';
import { now } from '../clock.ts';
import { clockTime, duration, relative } from '../format.ts';
import type { Job, JobDetail, Schedule } from '../types.ts';
import { type Mark, marksOf, rangeOf, ticksOf } from './timeline-marks.ts';

interface Props {
  jobs: Job[];
  /** Jobs that failed at least once, with all their attempts. */
  details: JobDetail[];
  schedule: Schedule | undefined;
  /** How far to look back; without it, far enough for the latest runs. */
  backMs: number | undefined;
}

const height = 96;
const lane = { top: 20, height: 40 };
const middle = lane.top + lane.height / 2;

/** Past runs, the one under way and those to come on one axis of time. The table of runs says the same in words. */
export function Timeline({ jobs, details, schedule, backMs }: Props) {
  const [place, width] = useWidth();
  const [pointed, setPointed] = useState<Mark>();
  const nowMs = now.value;
  const range = rangeOf(jobs, schedule, backMs, nowMs);
  const x = (ms: number) => ((ms - range.from) / (range.to - range.from)) * width;
  const marks = marksOf(jobs, details, schedule, nowMs).filter(
    ({ from, to }) => to >= range.from && from <= range.to,
  );
  return (
    <div class="timeline" ref={place}>
      <svg width={width} height={height} role="img" aria-label={labelOf(jobs, schedule)}>
        {ticksOf(range, width).map((tick) => (
          <g key={tick} class="timeline-tick">
            <line x1={x(tick)} x2={x(tick)} y1={lane.top - 6} y2={height - 20} />
            <text x={x(tick)} y={height - 6}>
              {tickText(tick, range.to - range.from)}
            </text>
          </g>
        ))}
        <line class="timeline-axis" x1="0" x2={width} y1={middle} y2={middle} />
        {marks.map((mark) => (
          <MarkShape key={mark.key} mark={mark} x={x} point={setPointed} />
        ))}
        <line class="timeline-now" x1={x(nowMs)} x2={x(nowMs)} y1={12} y2={height - 20} />
        <text class="timeline-now-text" x={x(nowMs)} y={9}>
          now
        </text>
      </svg>
      <p class="timeline-said soft" aria-hidden="true">
        {pointed ? sayMark(pointed, nowMs) : 'Point at a mark to read it.'}
      </p>
      <Key />
    </div>
  );
}

interface ShapeProps {
  mark: Mark;
  x: (ms: number) => number;
  point: (mark: Mark | undefined) => void;
}

function MarkShape({ mark, x, point }: ShapeProps) {
  const left = x(mark.from);
  const right = Math.max(left + 3, x(mark.to));
  const hover = { onMouseEnter: () => point(mark), onMouseLeave: () => point(undefined) };
  switch (mark.shape) {
    case 'wait':
      return <line class="mark-wait" x1={left} x2={right} y1={middle} y2={middle} {...hover} />;
    case 'backoff':
      // Dashes on a thick line look hatched, and need no pattern that <base> could lead astray.
      return <line class="mark-backoff" x1={left} x2={right} y1={middle} y2={middle} {...hover} />;
    case 'expected':
      return (
        <rect
          class="mark-expected"
          x={left}
          width={right - left}
          y={lane.top + 4}
          height={lane.height - 8}
          rx="3"
          {...hover}
        />
      );
    case 'run':
      return <RunShape mark={mark} left={left} right={right} hover={hover} />;
  }
}

interface RunShapeProps {
  mark: Mark;
  left: number;
  right: number;
  hover: { onMouseEnter: () => void; onMouseLeave: () => void };
}

/** Runs that failed hang below the axis, others stand on it, so that colour is not needed to tell them apart. */
function RunShape({ mark, left, right, hover }: RunShapeProps) {
  const failed = mark.status === 'failed';
  const whole = mark.status === 'running';
  const size = whole ? lane.height - 12 : lane.height / 2 - 2;
  const top = whole ? lane.top + 6 : failed ? middle + 1 : middle - size - 1;
  return (
    <rect
      class={`run-${mark.status ?? 'cancelled'}`}
      x={left}
      width={right - left}
      y={top}
      height={size}
      rx="1.5"
      {...hover}
    />
  );
}

function Key() {
  return (
    <ul class="timeline-key soft" aria-hidden="true">
      <li class="key-succeeded">succeeded</li>
      <li class="key-failed">failed</li>
      <li class="key-running">running</li>
      <li class="key-wait">waited to start</li>
      <li class="key-backoff">backing off</li>
      <li class="key-expected">expected</li>
    </ul>
  );
}

function sayMark({ shape, what, from, to }: Mark, nowMs: number): string {
  const begin = clockTime(new Date(from).toISOString(), nowMs);
  const end = clockTime(new Date(to).toISOString(), nowMs);
  if (shape === 'expected') return `${what}: between ${begin} and ${end}`;
  return `${what}: ${duration(to - from)}, ${begin} to ${end}`;
}

function labelOf(jobs: Job[], schedule: Schedule | undefined): string {
  const failed = jobs.filter(({ status }) => status === 'failed').length;
  const next = schedule?.runs[0];
  const expected = next ? ` The next is expected ${relative(next.earliest, now.peek())}.` : '';
  return `Timeline of ${jobs.length} runs, ${failed} of them failed.${expected} The table below lists them.`;
}

function tickText(ms: number, spanMs: number): string {
  const date = new Date(ms);
  const day = date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
  if (spanMs > 4 * 86_400_000 || (date.getHours() === 0 && date.getMinutes() === 0)) return day;
  const seconds = spanMs < 600_000 ? { second: '2-digit' as const } : {};
  return date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', ...seconds });
}

function useWidth() {
  const place = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  useEffect(() => {
    const element = place.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(Math.max(240, element.clientWidth)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [place, width] as const;
}
