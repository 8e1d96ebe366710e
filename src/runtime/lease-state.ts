/**
 * The lease of one process, as a reducer; `lease.ts` sends the statements.
 *
 *               registered                  renewed
 *   no lease ───────────────▶ unconfirmed ───────────▶ confirmed ──┐ renewed
 *      ▲                       │    ▲                   │  │   ▲   │
 *      │                       │    └── heartbeatFailed ─┘  │   └───┘
 *      └───────── lost ────────┴────────────────────────────┘
 *
 * `lost`: the server no longer has the lease, or `heldUntilMonotonicMs` has passed. A lost lease is never
 * renewed: its id is `previousId` until `released`, then in `survived` until `forgiven`.
 */
export interface LeaseState {
  readonly current: HeldLease | undefined;
  /** Lost, not released. */
  readonly previousId: string | undefined;
  /** Released, perhaps counted as deaths. */
  readonly survived: readonly string[];
  /** Found by the last heartbeat. */
  readonly expired: readonly string[];
}

interface HeldLease {
  readonly id: string;
  readonly heldUntilMonotonicMs: number;
  /** The last heartbeat succeeded. */
  readonly isConfirmed: boolean;
  /** Claims of unknown outcome, by id. */
  readonly uncertain: ReadonlyMap<string, UncertainClaim>;
}

interface UncertainClaim {
  readonly untilMonotonicMs: number;
  readonly isChecked: boolean;
}

export type LeaseEvent =
  | { type: 'registered'; id: string; heldUntilMonotonicMs: number }
  | { type: 'renewed'; id: string; heldUntilMonotonicMs: number; expired: readonly string[] }
  | { type: 'heartbeatFailed' }
  | { type: 'lost' }
  | { type: 'released'; id: string }
  | { type: 'forgiven'; id: string }
  | { type: 'reaped'; expired: readonly string[] }
  | { type: 'claimUncertain'; claimId: string; monotonicMs: number }
  | { type: 'claimChecked'; processId: string; claimId: string; monotonicMs: number };

/** An interrupted COMMIT may still succeed this long. */
const uncertainMs = 60_000;

export const noLease: LeaseState = { current: undefined, previousId: undefined, survived: [], expired: [] };

export function reduceLease(state: LeaseState, event: LeaseEvent): LeaseState {
  const { current } = state;
  switch (event.type) {
    case 'registered': {
      const { id, heldUntilMonotonicMs } = event;
      return { ...state, current: { id, heldUntilMonotonicMs, isConfirmed: false, uncertain: new Map() } };
    }
    case 'renewed':
      // The watchdog gave it up meanwhile.
      if (current?.id !== event.id) return state;
      return {
        ...state,
        current: { ...current, heldUntilMonotonicMs: event.heldUntilMonotonicMs, isConfirmed: true },
        expired: event.expired,
      };
    case 'heartbeatFailed':
      return current ? { ...state, current: { ...current, isConfirmed: false } } : state;
    case 'lost':
      return { ...state, current: undefined, previousId: current?.id };
    case 'released':
      return {
        ...state,
        previousId: state.previousId === event.id ? undefined : state.previousId,
        survived: [...state.survived, event.id],
      };
    case 'forgiven':
      return { ...state, survived: state.survived.filter((id) => id !== event.id) };
    case 'reaped':
      // A heartbeat may have found others.
      return state.expired === event.expired ? { ...state, expired: [] } : state;
    case 'claimUncertain':
      return withClaim(state, event.claimId, {
        untilMonotonicMs: event.monotonicMs + uncertainMs,
        isChecked: false,
      });
    case 'claimChecked': {
      const claim = current?.uncertain.get(event.claimId);
      if (!claim || current?.id !== event.processId) return state;
      const isOver = claim.untilMonotonicMs < event.monotonicMs;
      return withClaim(state, event.claimId, isOver ? undefined : { ...claim, isChecked: true });
    }
  }
}

function withClaim(state: LeaseState, claimId: string, claim: UncertainClaim | undefined): LeaseState {
  if (!state.current) return state;
  const uncertain = new Map(state.current.uncertain);
  if (claim) uncertain.set(claimId, claim);
  else uncertain.delete(claimId);
  return { ...state, current: { ...state.current, uncertain } };
}

export const claimingId = ({ current }: LeaseState, monotonicMs: number): string | undefined =>
  current?.isConfirmed && monotonicMs < current.heldUntilMonotonicMs ? current.id : undefined;

/** Dead processes or uncertain claims may leave jobs. */
export const hasPendingReturns = ({ current, expired }: LeaseState): boolean =>
  !current?.isConfirmed ||
  expired.length > 0 ||
  [...current.uncertain.values()].some(({ isChecked }) => !isChecked);
