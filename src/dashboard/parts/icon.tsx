/** On a 16 × 16 grid. */
const shapes = {
  ok: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Zm2.7 4.6L7.4 10 5.3 7.9',
  failing: 'M8 2.2 14.4 13.4H1.6ZM8 6.2v3.4M8 11.4v.2',
  needs_auth: 'M5.2 7.4V5.3a2.8 2.8 0 0 1 5.6 0v2.1M3.6 7.4h8.8v6H3.6Z',
  paused: 'M5.6 3.4v9.2M10.4 3.4v9.2',
  disabled: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2ZM3.8 12.2l8.4-8.4',
  queued: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2ZM8 5v3.2l2.2 1.4',
  running: 'M5 3.4 12.4 8 5 12.6Z',
  succeeded: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2Zm2.7 4.6L7.4 10 5.3 7.9',
  failed: 'M4 4l8 8M12 4l-8 8',
  cancelled: 'M8 2a6 6 0 1 0 0 12A6 6 0 0 0 8 2ZM3.8 12.2l8.4-8.4',
  retried: 'M12.8 6.2A5.2 5.2 0 1 0 13 9.4M13 2.8v3.6H9.4',
  lost: 'M5.8 6a2.3 2.3 0 1 1 3.4 2c-.8.4-1.2.9-1.2 1.8M8 12.2v.2',
  copy: 'M5.5 5.5h7.5v8H5.5ZM3 10.5v-8h7.5',
  sun: 'M8 5.2a2.8 2.8 0 1 0 0 5.6 2.8 2.8 0 0 0 0-5.6ZM8 1.4v1.4M8 13.2v1.4M1.4 8h1.4M13.2 8h1.4M3.3 3.3l1 1M11.7 11.7l1 1M12.7 3.3l-1 1M4.3 11.7l-1 1',
  moon: 'M13 9.6A5.6 5.6 0 0 1 6.4 3 5.6 5.6 0 1 0 13 9.6Z',
  system: 'M2 3h12v8H2ZM6 14h4M8 11v3',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  close: 'M4 4l8 8M12 4l-8 8',
  right: 'M6 3.5 10.5 8 6 12.5',
  attention: 'M8 2.2 14.4 13.4H1.6ZM8 6.2v3.4M8 11.4v.2',
} as const;

export type IconName = keyof typeof shapes;

/** Next to text: needs no label. */
export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
      <path d={shapes[name]} />
    </svg>
  );
}
