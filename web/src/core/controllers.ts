/**
 * Controllers written in the page: a class for each flow, called inside the worker for each event of the core.
 * The core writes the fields of an event as numbers; cwnd and ssthresh go back in the first two.
 */
import type { Tell } from './lab';

const FIELDS = 20;
const EVENT = { flow: 0, ack: 1, congestion: 2, rto: 3, recoveryExit: 4, restart: 5, setWindow: 6, setSsthresh: 7, undo: 8 } as const;

interface Guest {
  cwnd: number; ssthresh: number;
  onAck(ack: object): void; onCongestion(event: object): void; onRto(event: object): void; setWindow(cwnd: number): void;
  setSsthresh?(ssthresh: number): void; onRecoveryExit?(nowS: number): void; onRestart?(event: object): void; onUndo?(nowS: number): void;
}
type GuestClass = new (flow: object) => Guest;

export const flowOf = (e: Float64Array) => ({
  initialWindow: e[0]!, initialSsthresh: e[1]!, maxWindow: e[2]!, packet: e[3]!, countsSegments: e[4] === 1, integerWindows: e[5] === 1, reduceOnEveryTimeout: e[6] === 1, abe: e[7] === 1,
  seed: e[8]! * 2 ** 32 + e[9]!,
});
const ackOf = (e: Float64Array) => ({
  nowS: e[0]!, newlyAcked: e[1]!, newlyDelivered: e[2]!, newlyLost: e[3]!, dupacks: e[4]!, ackedThrough: e[5]!, next: e[6]!, inFlight: e[7]!, priorInFlight: e[8]!,
  rttS: Number.isNaN(e[9]!) ? null : e[9]!, ece: e[10] === 1, phase: (['open', 'cwr', 'recovery', 'loss'] as const)[e[11]!] ?? 'open', mayGrow: e[12] === 1, windowLimited: e[13] === 1,
});

export class Controllers {
  #classes: GuestClass[] = [];
  #guests = new Map<number, Guest>();
  /** What a class raised, with its place; empty if nothing failed. */
  failure = '';

  /** Forget the controllers of the run before. */
  begin(): void { this.#guests.clear(); this.failure = ''; }

  /** Runs the code and takes its class. Called only after the user has confirmed code that came in a link. */
  load(code: string | null): string[] {
    this.#classes = [];
    if (code === null) return [];
    const scope = self as unknown as { ackclockClass?: unknown; importScripts(url: string): void };
    const names = [...code.matchAll(/^\s*class\s+([A-Za-z_$][\w$]*)/gm)].map((m) => m[1]!);
    if (!names.length) throw new Error('the code has no class');
    const name = names[names.length - 1]!;
    delete scope.ackclockClass;
    const url = URL.createObjectURL(new Blob([`(() => { 'use strict';\n${code}\nself.ackclockClass = ${name}; })();`], { type: 'text/javascript' }));
    try { scope.importScripts(url); } finally { URL.revokeObjectURL(url); }
    this.use(name, scope.ackclockClass);
    return [name];
  }
  use(name: string, found: unknown): void {
    if (typeof found !== 'function') throw new Error(`${name} is not a class`);
    for (const method of ['onAck', 'onCongestion', 'onRto', 'setWindow']) if (typeof found.prototype?.[method] !== 'function') throw new Error(`${name} has no method ${method}`);
    this.#classes = [found as GuestClass];
  }

  /** The import `page.tell` of the core. */
  readonly tell: Tell = (controller, kind, at, memory) => {
    try {
      const e = new Float64Array(memory.buffer, at, FIELDS);
      let guest = this.#guests.get(controller);
      if (kind === EVENT.flow) {
        const found = this.#classes[0];
        if (!found) throw new Error('there is no controller in the page');
        guest = new found(flowOf(e));
        this.#guests.set(controller, guest);
      }
      if (!guest) throw new Error('an event came before the flow began');
      this.#deliver(guest, kind, e);
      if (!(guest.cwnd >= 1 && guest.ssthresh >= 1)) throw new Error(`cwnd is ${guest.cwnd}, ssthresh is ${guest.ssthresh}`);
      e[0] = guest.cwnd;
      e[1] = guest.ssthresh;
      return false;
    } catch (error) {
      this.failure ||= `the controller failed: ${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}`;
      return true;
    }
  };
  #deliver(guest: Guest, kind: number, e: Float64Array): void {
    if (kind === EVENT.ack) guest.onAck(ackOf(e));
    else if (kind === EVENT.congestion) guest.onCongestion({ nowS: e[0]!, window: e[1]!, inFlight: e[2]!, cause: e[3] === 1 ? 'ecn' : 'fast_retransmit', dupacks: e[4]!, retransmitted: e[5] === 1 });
    else if (kind === EVENT.rto) guest.onRto({ nowS: e[0]!, window: e[1]!, repeated: e[2] === 1 });
    else if (kind === EVENT.recoveryExit) guest.onRecoveryExit?.(e[0]!);
    else if (kind === EVENT.restart) { if (guest.onRestart) guest.onRestart({ nowS: e[0]!, window: e[1]!, idleS: e[2]! }); else guest.setWindow(e[1]!); }
    else if (kind === EVENT.setWindow) guest.setWindow(e[0]!);
    else if (kind === EVENT.setSsthresh) { if (guest.setSsthresh) guest.setSsthresh(e[0]!); else guest.ssthresh = e[0]!; }
    else if (kind === EVENT.undo) guest.onUndo?.(e[0]!);
  }
}
