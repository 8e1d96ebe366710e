/** The time of day with fractions of a millisecond: the same for all processes of a machine, as long as nobody sets its clock. */
export function nowMs(): number {
  return performance.timeOrigin + performance.now();
}
