/** The run: its status, its shape, its outcome, the curves of the range that is looked at. */
import { Client } from '../core/client';
import { Failed, Refused } from '../core/lab';
import type { Catalog, Curves, Flights, Outcome, Shape, Why } from '../core/types';
import { wasm } from '../core/wasm';
import { request, scenario } from './scenario.svelte';
import { resetTime, time } from './time.svelte';

export type Status = 'loading' | 'idle' | 'running' | 'ended' | 'error';

class Run {
  status = $state<Status>('loading');
  /** What went wrong, in words; not a mistake in the scenario, which is `scenario.problem`. */
  failure = $state('');
  now = $state(0);
  duration = $state(0);
  ms = $state(0);
  bytes = $state(0);
  fingerprint = $state('');
  catalog = $state.raw<Catalog | null>(null);
  shape = $state.raw<Shape | null>(null);
  outcome = $state.raw<Outcome | null>(null);
  curves = $state.raw<Curves | null>(null);
  why = $state.raw<Why | null>(null);
  whyNote = $state('');
  /** Times in which packets were recorded, if not in the whole run. */
  recorded = $state.raw<[number, number] | null>(null);
  /** Only changes of the windows were recorded, not every ACK. */
  coarse = $state(false);
  /** Text, changes and seed of the run that is shown: the page says when the editor is ahead of it. */
  key = $state('');
  seconds = $state(0);
  /** What is shown was recorded elsewhere (state/recording.svelte.ts). */
  recording = $state.raw<RecordingNotes | null>(null);
}
/** What a recorded run can not show here, and why. */
export interface RecordingNotes { source: string; notes: string[]; reason: string; packets: boolean; computable: boolean }
export const run = new Run();

let client: Client | null = null;
let checks = 0;
export const key = (): string => JSON.stringify([scenario.text, scenario.set, scenario.seed, scenario.controlled, scenario.controlled.length ? scenario.code : '']);
export const isShown = (): boolean => run.key === key();

export function mark(status: Status): void {
  run.status = status;
  const root = document.documentElement.dataset;
  root.state = status;
  if (status === 'ended') root.fingerprint = run.fingerprint;
  else delete root.fingerprint;
}
export const engine = (): Client | null => client;

export async function start(): Promise<void> {
  mark('loading');
  try {
    // Each worker owns its bytes: they are transferred with the message.
    client = new Client(await wasm());
    run.catalog = await client.ready;
    mark('idle');
  } catch (error) { fail(error); }
}
/** Shows what went wrong before a run. */
export function refuse(message: string): void { run.failure = message; mark('error'); }
function fail(error: unknown): void {
  if (error instanceof Refused) { scenario.problem = error.problem; run.failure = ''; }
  else run.failure = error instanceof Error ? error.message : String(error);
  mark('error');
}

/** Reads the scenario without running it; the answer to an older text is dropped. */
export async function check(): Promise<void> {
  if (!client || (run.recording && isShown())) return; // a recorded run needs no check
  const mine = ++checks;
  try {
    await client.call('files', $state.snapshot(scenario.files));
    const checked = await client.call('check', request());
    if (mine !== checks) return;
    scenario.checked = checked;
    scenario.problem = checked.is_study ? { key: 'sweep', message: 'the file is a study of many runs; remove sweep to run one of them here, or use ackclock sweep' } : null;
  } catch (error) {
    if (mine === checks && error instanceof Refused) scenario.problem = error.problem;
  }
}

let turn = 0;
/** What a run records: all; packets of a part; and changes of the window in place of every ACK. */
const enum Records { all, part, changes }
/** Computes the scenario. `packets`: record packet events in these times only. */
export async function compute(packets?: [number, number], records = packets ? Records.part : Records.all): Promise<void> {
  if (!client || (scenario.controlled.length && !scenario.confirmed)) return;
  leaveRecording();
  const mine = ++turn, again = isShown(), asked = key();
  Object.assign(run, { failure: '', why: null, whyNote: '', now: 0, seconds: 0 });
  mark('running');
  await check();
  if (mine !== turn) return;
  if (scenario.problem) return mark('error');
  try {
    const controlled = Object.fromEntries(scenario.controlled.map((flow) => [flow, 'page']));
    await client.call('controller', scenario.controlled.length ? { code: scenario.code, confirmed: true } : null);
    const began = performance.now();
    const ended = await client.call(
      'run',
      {
        ...request(), trace: records === Records.changes ? 'changes' : 'ack', packets: true, rules: true, fingerprint: true, bounded: records !== Records.changes, ...(packets ? { packets_from: packets[0], packets_until: packets[1] } : {}),
        ...(scenario.controlled.length ? { controllers: controlled } : {}),
      },
      (now, duration, bytes) => { if (mine === turn) Object.assign(run, { now, duration, bytes, seconds: (performance.now() - began) / 1000 }); },
    );
    if (mine !== turn) return;
    if (ended.cut_short === 'memory') {
      // Where not even a third fitted, the rows of every ACK would not fit either.
      const from = packets?.[0] ?? 0, until = Math.min(packets?.[1] ?? Infinity, from + (ended.now_s - from) * 0.4);
      return await compute([from, until], records === Records.part || ended.now_s < 0.3 * ended.shape.duration_s ? Records.changes : Records.part);
    }
    Object.assign(run, { shape: ended.shape, outcome: ended.outcome, fingerprint: ended.fingerprint, ms: ended.ms, bytes: ended.bytes, now: ended.now_s, key: asked });
    run.recorded = packets ?? null;
    run.coarse = records === Records.changes;
    if (ended.cut_short === 'stopped') { run.failure = `Stopped at ${ended.now_s.toFixed(3)} s of ${ended.shape.duration_s} s. Nothing is shown of a run that was stopped.`; run.curves = null; run.key = ''; return mark('idle'); }
    if (!again || time.duration !== ended.shape.duration_s) resetTime(ended.shape.duration_s);
    await look();
    mark('ended');
  } catch (error) { if (mine === turn) fail(error); }
}
/** Ends a run, also one that does not answer: after a second the worker is replaced. */
export async function stop(): Promise<void> {
  if (!client || run.status !== 'running') return;
  const mine = turn, before = client;
  void before.call('stop', null).catch(() => undefined);
  setTimeout(async () => {
    if (mine !== turn || run.status !== 'running') return;
    turn++;
    before.end();
    await start();
    run.failure = 'The run did not answer and was ended.';
  }, 1000);
}

/** From a recorded run back to runs of the core. */
export function leaveRecording(): void {
  if (!run.recording) return;
  Object.assign(run, { recording: null, shape: null, curves: null, outcome: null, key: '' });
  scenario.places = null;
  void client?.call('record', null);
}

let looks = 0;
let width = 900;
export const setWidth = (px: number): void => { width = Math.max(100, Math.round(px)); };
/** Curves of the range that is looked at. */
export async function look(): Promise<void> {
  if (!client || !run.shape) return;
  const mine = ++looks;
  try {
    const found = await client.call('curves', { from: time.from, to: time.to, px: width });
    if (mine === looks) run.curves = found;
  } catch (error) { if (mine === looks) run.failure = (error as Error).message; }
}
export async function flights(from: number, to: number): Promise<Flights | null> {
  if (!client || run.status !== 'ended' || run.recording?.packets === false) return null;
  try { return await client.call('flights', { from, to }); } catch { return null; }
}
export async function explain(at: number, flow: string | undefined, cut: boolean): Promise<void> {
  if (!client || run.status !== 'ended' || run.recording) return;
  run.whyNote = '';
  try {
    run.why = await client.call('why', { at_s: at, cut, ...(flow ? { flow } : {}) });
  } catch (error) {
    run.why = null;
    run.whyNote = error instanceof Refused || error instanceof Failed ? error.message : String(error);
  }
}
