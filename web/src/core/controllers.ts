/**
 * Controllers written in the page: a class for each flow, called inside the worker for each event of the core.
 * The core writes the fields of an event as numbers; cwnd and ssthresh go back in the first two.
 */
import type { Tell } from './lab';
import type { PageClass } from './types';

const FIELDS = 40, FIRST_PROBE = 8;
const EVENT = {
  flow: 0, ack: 1, congestion: 2, rto: 3, recoveryExit: 4, restart: 5, setWindow: 6, setSsthresh: 7, undo: 8, open: 9, lost: 10, sent: 11, transmitStart: 12, timer: 13, hint: 14,
} as const;
const ECN = ['reduce', 'confirm', 'ignore'] as const, HINTS = ['handoff_begins', 'handoff_ends', 'router_rate', 'router_feedback'] as const;

/** The interface of a class: that of Python controllers, in camel case. */
interface PageController {
  cwnd: number; ssthresh: number;
  pacingBps?: number | null; wakeAtS?: number | null; fineTimeoutS?: number | null; ecnResponse?: string;
  onAck(ack: object): void; onCongestion(event: object): void; onRto(event: object): void; setWindow(cwnd: number): void;
  setSsthresh?(ssthresh: number): void; onOpen?(nowS: number): void; onRecoveryExit?(nowS: number): void; onRestart?(event: object): void; onUndo?(nowS: number): void;
  onLost?(lost: object): void; onSent?(sent: object): void; onTransmitStart?(event: object): void; onTimer?(nowS: number): void; onHint?(hint: object): void;
}
type PageControllerClass = { new (flow: object): PageController; name: string; needs?: unknown; probes?: unknown; initialWindow?: unknown; ecnResponse?: unknown };
const number = (v: unknown): number => (v === null || v === undefined ? NaN : Number(v));
const known = (v: number): number | null => (Number.isNaN(v) ? null : v);

export const flowOf = (e: Float64Array) => ({
  initialWindow: e[0]!, initialSsthresh: e[1]!, maxWindow: e[2]!, packet: e[3]!, countsSegments: e[4] === 1, integerWindows: e[5] === 1, reduceOnEveryTimeout: e[6] === 1, abe: e[7] === 1,
  seed: e[8]! * 2 ** 32 + e[9]!,
});
const ackOf = (e: Float64Array) => ({
  nowS: e[0]!, newlyAcked: e[1]!, newlyDelivered: e[2]!, newlyLost: e[3]!, dupacks: e[4]!, ackedThrough: e[5]!, next: e[6]!, inFlight: e[7]!, priorInFlight: e[8]!,
  rttS: Number.isNaN(e[9]!) ? null : e[9]!, ece: e[10] === 1, phase: (['open', 'cwr', 'recovery', 'loss'] as const)[e[11]!] ?? 'open', mayGrow: e[12] === 1, windowLimited: e[13] === 1,
  delivered: known(e[14]!), intervalS: known(e[15]!), appLimited: e[16] === 1, deliveredTotal: e[17]!, lostTotal: e[18]!, receiverTimeS: known(e[19]!),
});

export class Controllers {
  #class: PageControllerClass | null = null;
  #probes: string[] = [];
  #controllers = new Map<number, PageController>();
  /** What a class raised, with its place; empty if nothing failed. */
  failure = '';

  /** Forget the controllers of the run before. */
  begin(): void { this.#controllers.clear(); this.failure = ''; }

  /** Runs the code and takes its class. Called only after the user has confirmed code that came in a link. */
  load(code: string | null): PageClass | null {
    this.#class = null;
    if (code === null) return null;
    const scope = self as unknown as { ackclockClass?: unknown; importScripts(url: string): void };
    const names = [...code.matchAll(/^\s*class\s+([A-Za-z_$][\w$]*)/gm)].map((m) => m[1]!);
    if (!names.length) throw new Error('the code has no class');
    const name = names[names.length - 1]!;
    delete scope.ackclockClass;
    const url = URL.createObjectURL(new Blob([`(() => { 'use strict';\n${code}\nself.ackclockClass = ${name}; })();`], { type: 'text/javascript' }));
    try { scope.importScripts(url); } finally { URL.revokeObjectURL(url); }
    return this.use(name, scope.ackclockClass);
  }
  /** Takes a class; gives what the core must know of it. */
  use(name: string, found: unknown): PageClass {
    if (typeof found !== 'function') throw new Error(`${name} is not a class`);
    for (const method of ['onAck', 'onCongestion', 'onRto', 'setWindow']) if (typeof found.prototype?.[method] !== 'function') throw new Error(`${name} has no method ${method}`);
    const own = found as PageControllerClass;
    const words = (key: 'needs' | 'probes'): string[] => {
      const list = own[key] ?? [];
      if (!Array.isArray(list) || !list.every((word) => typeof word === 'string')) throw new Error(`${name}.${key} is not a list of names`);
      return list as string[];
    };
    if (own.ecnResponse !== undefined && !ECN.includes(own.ecnResponse as 'reduce')) throw new Error(`${name}.ecnResponse is not one of ${ECN.join(', ')}`);
    this.#class = own;
    this.#probes = [...words('probes')];
    const initial = own.initialWindow;
    return { name, probes: this.#probes, needs: words('needs'), ...(initial === undefined || initial === null ? {} : { initial_window: Number(initial) }) };
  }

  /** The import `page.tell` of the core. */
  readonly tell: Tell = (controller, kind, at, memory) => {
    try {
      const e = new Float64Array(memory.buffer, at, FIELDS);
      let instance = this.#controllers.get(controller);
      if (kind === EVENT.flow) {
        const found = this.#class;
        if (!found) throw new Error('there is no controller in the page');
        instance = new found(flowOf(e));
        this.#controllers.set(controller, instance);
      }
      if (!instance) throw new Error('an event came before the flow began');
      this.#deliver(instance, kind, e);
      if (!(instance.cwnd >= 1 && instance.ssthresh >= 1)) throw new Error(`cwnd is ${instance.cwnd}, ssthresh is ${instance.ssthresh}`);
      e[0] = instance.cwnd;
      e[1] = instance.ssthresh;
      e[2] = number(instance.pacingBps);
      e[3] = number(instance.wakeAtS);
      e[4] = number(instance.fineTimeoutS);
      e[5] = Math.max(0, ECN.indexOf((instance.ecnResponse ?? this.#class?.ecnResponse ?? 'reduce') as 'reduce'));
      const probes = this.#probes;
      for (let i = 0; i < probes.length; i++) e[FIRST_PROBE + i] = number((instance as unknown as Record<string, unknown>)[probes[i]!]);
      return false;
    } catch (error) {
      this.failure ||= `the controller failed: ${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}`;
      return true;
    }
  };
  #deliver(instance: PageController, kind: number, e: Float64Array): void {
    const nowS = e[0]!;
    switch (kind) {
      case EVENT.ack: return instance.onAck(ackOf(e));
      case EVENT.congestion: return instance.onCongestion({ nowS, window: e[1]!, inFlight: e[2]!, cause: e[3] === 1 ? 'ecn' : 'fast_retransmit', dupacks: e[4]!, retransmitted: e[5] === 1, segmentSentS: known(e[6]!) });
      case EVENT.rto: return instance.onRto({ nowS, window: e[1]!, repeated: e[2] === 1 });
      case EVENT.recoveryExit: return instance.onRecoveryExit?.(nowS);
      case EVENT.restart: return instance.onRestart ? instance.onRestart({ nowS, window: e[1]!, idleS: e[2]! }) : instance.setWindow(e[1]!);
      case EVENT.setWindow: return instance.setWindow(e[0]!);
      case EVENT.setSsthresh: if (instance.setSsthresh) instance.setSsthresh(e[0]!); else instance.ssthresh = e[0]!; return;
      case EVENT.undo: return instance.onUndo?.(nowS);
      case EVENT.open: return instance.onOpen?.(nowS);
      case EVENT.lost: return instance.onLost?.({ nowS, seq: e[1]!, txInFlight: e[2]!, lost: e[3]!, deliveredTotal: e[4]!, appLimited: e[5] === 1, startsRange: e[6] === 1 });
      case EVENT.sent: return instance.onSent?.({ nowS, seq: e[1]!, inFlight: e[2]!, retransmission: e[3] === 1 });
      case EVENT.transmitStart: return instance.onTransmitStart?.({ nowS, idleS: e[1]!, appLimited: e[2] === 1 });
      case EVENT.timer: return instance.onTimer?.(nowS);
      case EVENT.hint: return instance.onHint?.({ nowS, kind: HINTS[e[1]!], value: known(e[2]!) });
    }
  }
}
