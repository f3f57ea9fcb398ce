/**
 * Controllers written in the page: a class for each flow, called inside the worker for each event of the core.
 * The core writes the fields of an event as numbers, times in picoseconds; the answers go back in the first places.
 */
import type { Tell } from './lab';
import type { PageClass } from './types';

const FIELDS = 41, FIRST_PROBE = 9;
/** The methods, in the order of the table of events in crates/cc/src/external.rs: kind 1 is the first, kind 0 creates the object. */
const METHODS = [
  'onOpen', 'onHandshake', 'onAck', 'onLost', 'onDelivered', 'onSent', 'onCongestion', 'onRto', 'onRecoveryExit', 'onUndo', 'onRestart', 'onTransmitStart', 'onTimer', 'onHint', 'setWindow', 'setSsthresh',
] as const;
const ECN = ['reduce', 'confirm', 'ignore'] as const, HINTS = ['handoff_begins', 'handoff_ends', 'router_rate', 'router_feedback'] as const;
const PHASES = ['open', 'cwr', 'recovery', 'loss'] as const;

type Method = (typeof METHODS)[number];
/** The interface of a class: that of Python controllers, in camel case. `use` checks the methods that it must have. */
type PageController = { cwnd: number; ssthresh: number; pacingBps?: number | null; sendQuantum?: number; wakeAtS?: number | null; fineTimeoutS?: number | null; ecnResponse?: string; ownsWindow?: boolean; limitsApplication?: boolean } & { [method in Method]?: (event: unknown) => void };
type PageControllerClass = { new (flow: object): PageController; name: string; needs?: unknown; probes?: unknown; initialWindow?: unknown; ecnResponse?: unknown };
const number = (v: unknown): number => (v === null || v === undefined ? NaN : Number(v));
const known = (v: number): number | null => (Number.isNaN(v) ? null : v);
const seconds = (ps: number): number => ps / 1e12;

export const flowOf = (e: Float64Array) => ({
  initialWindow: e[0]!, initialSsthresh: e[1]!, maxWindow: e[2]!, packet: e[3]!, countsSegments: e[4] === 1, integerWindows: e[5] === 1, reduceOnEveryTimeout: e[6] === 1, fineClock: e[7] === 1, abe: e[8] === 1,
  seed: e[9]! * 2 ** 32 + e[10]!, seedWords: [e[9]!, e[10]!],
});
const nowS = (e: Float64Array): number => seconds(e[0]!), segments = (e: Float64Array): number => e[0]!;
/** The argument of a method. */
const ARGUMENT: { [method in Method]: (e: Float64Array) => unknown } = {
  onOpen: nowS, onRecoveryExit: nowS, onUndo: nowS, onTimer: nowS, setWindow: segments, setSsthresh: segments,
  onHandshake: (e) => ({ nowS: nowS(e), nowPs: e[0]!, rttS: seconds(e[1]!), rttPs: e[1]! }),
  onAck: (e) => ({
    nowS: nowS(e), nowPs: e[0]!, newlyAcked: e[1]!, newlyDelivered: e[2]!, newlyLost: e[3]!, deliveredTotal: e[4]!, lostTotal: e[5]!, dupacks: e[6]!, ackedThrough: e[7]!, next: e[8]!,
    inFlight: e[9]!, priorInFlight: e[10]!, rttS: known(seconds(e[11]!)), rttPs: known(e[11]!), receiverTimeS: known(seconds(e[12]!)), receiverTimePs: known(e[12]!), ece: e[13] === 1,
    delivered: known(e[14]!), intervalS: known(seconds(e[15]!)), intervalPs: known(e[15]!), appLimited: e[16] === 1, priorDelivered: known(e[17]!), txInFlight: known(e[18]!), lost: known(e[19]!),
    phase: PHASES[e[20]!]!, mayGrow: e[21] === 1, paced: e[22] === 1, pacingWaitS: seconds(e[23]!), pacingWaitPs: e[23]!, windowLimited: e[24] === 1,
  }),
  onLost: (e) => ({ nowS: nowS(e), nowPs: e[0]!, seq: e[1]!, txInFlight: e[2]!, lost: e[3]!, deliveredTotal: e[4]!, appLimited: e[5] === 1, startsRange: e[6] === 1 }),
  onDelivered: (e) => ({ nowS: nowS(e), nowPs: e[0]!, seq: e[1]!, sentS: seconds(e[2]!), sentPs: e[2]!, rttS: seconds(e[3]!), rttPs: e[3]! }),
  onSent: (e) => ({ nowS: nowS(e), nowPs: e[0]!, seq: e[1]!, inFlight: e[2]!, retransmission: e[3] === 1 }),
  onCongestion: (e) => ({
    nowS: nowS(e), nowPs: e[0]!, cause: e[1] === 1 ? 'ecn' : 'fast_retransmit', window: e[2]!, inFlight: e[3]!, segmentSentS: known(seconds(e[4]!)), segmentSentPs: known(e[4]!), retransmitted: e[5] === 1, dupacks: e[6]!,
  }),
  onRto: (e) => ({ nowS: nowS(e), nowPs: e[0]!, window: e[1]!, repeated: e[2] === 1 }),
  onRestart: (e) => ({ nowS: nowS(e), nowPs: e[0]!, idleS: seconds(e[1]!), idlePs: e[1]!, window: e[2]! }),
  onTransmitStart: (e) => ({ nowS: nowS(e), nowPs: e[0]!, idleS: seconds(e[1]!), idlePs: e[1]!, appLimited: e[2] === 1 }),
  onHint: (e) => ({ nowS: nowS(e), nowPs: e[0]!, kind: HINTS[e[1]!], value: known(e[2]!) }),
};

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
      if (kind === 0) {
        const found = this.#class;
        if (!found) throw new Error('there is no controller in the page');
        instance = new found(flowOf(e));
        this.#controllers.set(controller, instance);
      } else {
        if (!instance) throw new Error('an event came before the flow began');
        this.#deliver(instance, METHODS[kind - 1]!, e);
      }
      if (!(instance.cwnd >= 1 && instance.ssthresh >= 1)) throw new Error(`cwnd is ${instance.cwnd}, ssthresh is ${instance.ssthresh}`);
      e[0] = instance.cwnd;
      e[1] = instance.ssthresh;
      e[2] = number(instance.pacingBps);
      e[3] = number(instance.wakeAtS);
      e[4] = number(instance.fineTimeoutS);
      e[5] = Math.max(0, ECN.indexOf((instance.ecnResponse ?? this.#class?.ecnResponse ?? 'reduce') as 'reduce'));
      e[6] = instance.ownsWindow === true ? 1 : 0;
      e[7] = instance.limitsApplication === true ? 1 : 0;
      e[8] = number(instance.sendQuantum);
      const probes = this.#probes;
      for (let i = 0; i < probes.length; i++) e[FIRST_PROBE + i] = number((instance as unknown as Record<string, unknown>)[probes[i]!]);
      return false;
    } catch (error) {
      this.failure ||= `the controller failed: ${error instanceof Error ? `${error.name}: ${error.message}` : String(error)}`;
      return true;
    }
  };
  #deliver(instance: PageController, method: Method, e: Float64Array): void {
    if (instance[method]) instance[method](ARGUMENT[method](e));
    else if (method === 'onRestart') instance.setWindow?.(e[2]!);
    else if (method === 'setSsthresh') instance.ssthresh = e[0]!;
  }
}
