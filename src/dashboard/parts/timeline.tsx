import { useEffect, useRef, useState } from 'preact/hooks';
import { now } from '../clock.ts';
import { clockTime, duration, plural, relative } from '../format.ts';
import type { Job, JobDetail, Schedule } from '../types.ts';
import { type Mark, marksOf, rangeOf, ticksOf } from './timeline-marks.ts';

interface Props {
  jobs: Job[];
  details: JobDetail[];
  schedule: Schedule | undefined;
  /** Undefined: the latest runs. */
  backMs: number | undefined;
  maxRows: number;
}

const height = 96;
const lane = { top: 20, height: 40 };
const middle = lane.top + lane.height / 2;

/** Its text equivalent is the table of jobs. */
export function Timeline({ jobs, details, schedule, backMs, maxRows }: Props) {
  const [container, width] = useWidth();
  const [hovered, setHovered] = useState<Mark>();
  const nowMs = now.value;
  const range = rangeOf(jobs, schedule, backMs, nowMs);
  const x = (ms: number) => ((ms - range.from) / (range.to - range.from)) * width;
  const marks = marksOf(jobs, details, schedule, nowMs).filter(
    ({ from, to }) => to >= range.from && from <= range.to,
  );
  return (
    <div class="timeline" ref={container}>
      <svg width={width} height={height} role="img" aria-label={labelOf(jobs, schedule, maxRows)}>
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
          <MarkShape key={mark.key} mark={mark} x={x} onHover={setHovered} />
        ))}
        <line class="timeline-now" x1={x(nowMs)} x2={x(nowMs)} y1={12} y2={height - 20} />
        <text class="timeline-now-text" x={x(nowMs)} y={9}>
          now
        </text>
      </svg>
      <p class="timeline-detail soft" aria-hidden="true">
        {hovered ? markText(hovered, nowMs) : 'Hover over a mark for details.'}
      </p>
      <Legend />
    </div>
  );
}

interface ShapeProps {
  mark: Mark;
  x: (ms: number) => number;
  onHover: (mark: Mark | undefined) => void;
}

function MarkShape({ mark, x, onHover }: ShapeProps) {
  const left = x(mark.from);
  const right = Math.max(left + 3, x(mark.to));
  const hover = { onMouseEnter: () => onHover(mark), onMouseLeave: () => onHover(undefined) };
  switch (mark.shape) {
    case 'wait':
      return <line class="mark-wait" x1={left} x2={right} y1={middle} y2={middle} {...hover} />;
    case 'backoff':
      // No SVG pattern: <base> breaks url(#id).
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

/** Below the axis: distinguishable without colour. */
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

function Legend() {
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

function markText({ shape, what, from, to }: Mark, nowMs: number): string {
  const start = clockTime(new Date(from).toISOString(), nowMs);
  const end = clockTime(new Date(to).toISOString(), nowMs);
  if (shape === 'expected') return `${what}: between ${start} and ${end}`;
  return `${what}: ${duration(to - from)}, ${start} to ${end}`;
}

function labelOf(jobs: Job[], schedule: Schedule | undefined, maxRows: number): string {
  const failed = jobs.filter(({ status }) => status === 'failed').length;
  const next = schedule?.runs[0];
  const expected = next ? ` The next run is expected ${relative(next.earliest, now.peek())}.` : '';
  return `Timeline of ${plural(jobs.length, 'job')}, ${failed} failed.${expected}${tableText(jobs.length, maxRows)}`;
}

function tableText(jobs: number, maxRows: number): string {
  if (jobs === 0) return '';
  return ` The table below lists ${jobs > maxRows ? `the latest ${maxRows}` : 'all'} jobs.`;
}

function tickText(ms: number, spanMs: number): string {
  const date = new Date(ms);
  const day = date.toLocaleDateString('en-GB', { day: 'numeric', month: 'short' });
  if (spanMs > 4 * 86_400_000 || (date.getHours() === 0 && date.getMinutes() === 0)) return day;
  const seconds = spanMs < 600_000 ? { second: '2-digit' as const } : {};
  return date.toLocaleTimeString('en-GB', { hour: '2-digit', minute: '2-digit', ...seconds });
}

function useWidth() {
  const container = useRef<HTMLDivElement>(null);
  const [width, setWidth] = useState(600);
  useEffect(() => {
    const element = container.current;
    if (!element) return;
    const observer = new ResizeObserver(() => setWidth(Math.max(240, element.clientWidth)));
    observer.observe(element);
    return () => observer.disconnect();
  }, []);
  return [container, width] as const;
}
