/** The run: its status, its shape, its outcome, the curves of the range that is looked at. */
import { Client } from '../core/client';
import { Failed, Refused } from '../core/lab';
import type {
  Catalog,
  Curves,
  Flights,
  Messages,
  Outcome,
  PageClass,
  Recorded,
  RunRequest,
  Shape,
  Transmissions,
  Why,
} from '../core/types';
import { wasm } from '../core/wasm';
import { request, scenario } from './scenario.svelte';
import { asFlights } from './radio';
import { isModule } from './modules';
import { claim, current, forgetTransfer, isCurrent, isTransfer } from './shown.svelte';
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
  /** The messages of applications so far; null without applications. */
  messages = $state.raw<Messages | null>(null);
  why = $state.raw<Why | null>(null);
  whyNote = $state('');
  /** The part of the run whose packets and windows are recorded, and the rows of the whole run. */
  recordedRange = $state.raw<Recorded | null>(null);
  /** The run that records a range: the range, and the completed part of the run. */
  rerun = $state.raw<{ from: number; to: number; part: number } | null>(null);
  /** Text, changes and seed of the run that is shown: the page says when the editor is ahead of it. */
  key = $state('');
  seconds = $state(0);
  /** The recorded run that is shown instead of a computed one (state/recording.svelte.ts). */
  recordedRun = $state.raw<RecordingNotes | null>(null);
}
/** What a recorded run cannot show here, and why. */
export interface RecordingNotes {
  source: string;
  notes: string[];
  reason: string;
  packets: boolean;
  computable: boolean;
  causes: boolean;
  seed: number;
}
export const run = new Run();

let client: Client | null = null;
let checks = 0;
export const key = (): string =>
  JSON.stringify([
    scenario.text,
    scenario.set,
    scenario.seed,
    scenario.controlled,
    scenario.controlled.length ? scenario.code : '',
  ]);
export const isShown = (): boolean => run.key === key();

export function mark(status: Status): void {
  run.status = status;
  const root = document.documentElement.dataset;
  root.state = status;
  if (status === 'ended') Object.assign(root, { fingerprint: run.fingerprint, bytes: String(run.bytes) });
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
  } catch (error) {
    fail(error);
  }
}
/** Shows what went wrong before a run. */
export function refuse(message: string): void {
  run.failure = message;
  mark('error');
}
function fail(error: unknown): void {
  if (error instanceof Refused) {
    scenario.problem = error.problem;
    run.failure = '';
  } else run.failure = error instanceof Error ? error.message : String(error);
  mark('error');
}

/** Reads the scenario without running it; the answer to an older text is dropped. */
export async function check(): Promise<void> {
  if (!client || (run.recordedRun && isShown())) return; // a recorded run needs no check
  const mine = ++checks;
  try {
    await client.call('files', $state.snapshot(scenario.files));
    const checked = await client.call('check', request());
    if (mine !== checks) return;
    scenario.checked = checked;
    scenario.problem = checked.is_study
      ? {
          key: 'sweep',
          message: 'the file is a study of many runs; remove sweep to run one of them here, or use ackclock sweep',
        }
      : null;
  } catch (error) {
    if (mine === checks && error instanceof Refused) scenario.problem = error.problem;
  }
}

let page: PageClass | null = null;
/** The run of the scenario, as the core takes it. */
export function asked(): RunRequest {
  const controllers = page ? Object.fromEntries(scenario.controlled.map((flow) => [flow, page!])) : undefined;
  return {
    ...request(),
    trace: 'ack',
    packets: true,
    rules: true,
    fingerprint: true,
    bounded: true,
    radio: scenario.checked?.kind === 'radio',
    ...(controllers ? { controllers } : {}),
  };
}
/** Milliseconds after which a run with a controller from outside is ended if its worker says nothing. */
const NO_ANSWER = 10_000;
/** Milliseconds between two drawings of a run that is computed. */
const REDRAW = 250;
/** Computes the scenario. */
export async function compute(): Promise<void> {
  if (!client || (scenario.controlled.length && !scenario.confirmed)) return;
  leaveRecording();
  if (isTransfer()) {
    void client.call('stop', null);
    forgetTransfer();
  }
  const mine = claim(),
    again = isShown(),
    text = key();
  Object.assign(run, { failure: '', why: null, whyNote: '', now: 0, seconds: 0, rerun: null });
  whole = null;
  mark('running');
  await check();
  if (!isCurrent(mine)) return;
  if (scenario.problem) return mark('error');
  try {
    page = await client.call(
      'controller',
      scenario.controlled.length ? { code: scenario.code, confirmed: true } : null,
    );
    const began = performance.now();
    let drawn = began,
      shown = again;
    const begin = (shape: Shape): void => {
      if (!shown || time.duration !== shape.duration_s) show(shape);
      shown = true;
    };
    const running = client;
    let answered = performance.now();
    // A controller in JavaScript or WebAssembly can loop for ever; the core alone always answers.
    const foreign = scenario.controlled.length > 0 || Object.keys(scenario.files).some(isModule);
    const watch = foreign
      ? window.setInterval(() => {
          if (performance.now() - answered < NO_ANSWER) return;
          window.clearInterval(watch);
          running.end();
          void start().then(() => refuse('A controller did not answer for 10 s, and its run was ended.'));
        }, 1000)
      : 0;
    const ended = await running
      .call('run', asked(), (now, bytes, shape) => {
        answered = performance.now();
        if (!isCurrent(mine)) return;
        const at = performance.now();
        Object.assign(run, { now, duration: shape.duration_s, bytes, seconds: (at - began) / 1000 });
        // The curves of the same run are there already.
        if (again || at - drawn < REDRAW || looking) return;
        drawn = at;
        begin(shape);
        void look();
        void read(running, mine);
      })
      .finally(() => window.clearInterval(watch));
    if (!isCurrent(mine)) return;
    begin(ended.shape);
    await read(running, mine);
    if (!isCurrent(mine)) return;
    Object.assign(run, {
      shape: ended.shape,
      outcome: ended.outcome,
      fingerprint: ended.fingerprint,
      ms: ended.ms,
      bytes: ended.bytes,
      now: ended.now_s,
      recordedRange: ended.recorded,
      key: ended.outcome ? text : '',
    });
    if (ended.cut_short) {
      run.failure = `Stopped at ${ended.now_s.toFixed(3)} s of ${ended.shape.duration_s} s. The charts show the run so far.`;
      await look();
      return mark('idle');
    }
    const complete = ended.recorded.to_s >= ended.shape.duration_s;
    rows = { packets: ended.recorded.packet_events, windows: ended.recorded.window_rows };
    wanted = null;
    if (!complete) whole = await client.call('curves', { from: 0, to: ended.shape.duration_s, px: WHOLE });
    await look();
    if (isCurrent(mine)) mark('ended');
  } catch (error) {
    if (isCurrent(mine)) fail(error);
  }
}
/** Reads the messages of applications. */
async function read(from: Client, mine: number): Promise<void> {
  if (!run.shape?.applications?.length) return void (run.messages = null);
  const messages = await from.call('messages', null);
  if (isCurrent(mine)) run.messages = messages;
}
/** Begins to show a run. */
function show(shape: Shape): void {
  Object.assign(run, { shape, outcome: null, curves: null, messages: null, recordedRange: null, key: '' });
  resetTime(shape.duration_s);
}
/** Ends a run, also one that does not answer: after a second the worker is replaced. */
export async function stop(): Promise<void> {
  if (!client || (run.status !== 'running' && !run.rerun)) return;
  const mine = current(),
    before = client;
  void before.call('stop', null).catch(() => undefined);
  setTimeout(async () => {
    if (!isCurrent(mine) || (run.status !== 'running' && !run.rerun)) return;
    claim();
    before.end();
    await start();
    run.failure = 'The run did not answer and was ended.';
  }, 1000);
}

/** From a recorded run back to runs of the core. */
export function leaveRecording(): void {
  if (!run.recordedRun) return;
  Object.assign(run, { recordedRun: null, shape: null, curves: null, messages: null, outcome: null, key: '' });
  scenario.places = null;
  void client?.call('record', null);
}

/** Curves of the whole run, if not all of its rows are recorded; and their pixel columns. */
let whole: Curves | null = null;
const WHOLE = 2048;
let looks = 0,
  looking = false;
let width = 900;
export const setWidth = (px: number): void => {
  width = Math.max(100, Math.round(px));
};
/** Curves of the range that is looked at. A range that is not recorded, and is small enough, is recorded. */
export async function look(): Promise<void> {
  if (!client || !run.shape) return;
  const mine = ++looks;
  if (whole && (run.rerun || !covered(time.from, time.to))) {
    run.curves = clipped(whole, time.from, time.to);
    if (run.status === 'ended') void record(time.from, time.to);
    return;
  }
  looking = true;
  try {
    const found = await client.call('curves', { from: time.from, to: time.to, px: width });
    if (mine === looks) run.curves = found;
  } catch (error) {
    if (mine === looks) run.failure = (error as Error).message;
  } finally {
    looking = false;
  }
}
const covered = (from: number, to: number): boolean =>
  !run.recordedRange || (from >= run.recordedRange.from_s && Math.min(to, time.duration) <= run.recordedRange.to_s);
/** The part of the curves in a range, with the value before it. */
function clipped(curves: Curves, from: number, to: number): Curves {
  const series = curves.series.map((s) => {
    const x = curves.data.subarray(s.start, s.start + s.points);
    let a = 0,
      b = s.points;
    while (a + 1 < b && x[a + 1]! <= from) a++;
    while (b > a + 1 && x[b - 2]! >= to) b--;
    return { ...s, first: a, last: b };
  });
  const data = new Float64Array(series.reduce((n, s) => n + 2 * (s.last - s.first), 0));
  let start = 0;
  return {
    data,
    series: series.map(({ first, last, ...s }) => {
      const points = last - first;
      data.set(curves.data.subarray(s.start + first, s.start + last), start);
      data.set(curves.data.subarray(s.start + s.points + first, s.start + s.points + last), start + points);
      const moved = { ...s, start, points };
      start += 2 * points;
      return moved;
    }),
  };
}
/** Rows that a record has room for, and the part of them that is used: rows are not spread evenly. */
const MOST_PACKETS = 3 * 2 ** 20,
  MOST_WINDOWS = 2 ** 19,
  USED = 0.6;
let rows = { packets: 0, windows: 0 };
/** The longest range that can be recorded at once, s; the whole run if all of it is. */
export function longest(): number {
  const { packets, windows } = rows;
  return whole
    ? time.duration * USED * Math.min(MOST_PACKETS / Math.max(1, packets), MOST_WINDOWS / Math.max(1, windows))
    : time.duration;
}
let wanted: [number, number] | null = null;
/** Runs again up to the end of a range and records it: the run is deterministic. True if the range is then recorded. */
async function record(from: number, to: number): Promise<boolean> {
  if (covered(from, to)) return true;
  const most = longest();
  if (!client || !whole || to - from > most || (wanted && from >= wanted[0] && to <= wanted[1])) return false;
  // As much around the range as has room: more before it, where causes are.
  const spare = most - (to - from),
    begin = Math.max(0, from - 0.7 * spare),
    until = Math.min(time.duration, begin + most);
  const mine = claim();
  wanted = [begin, until];
  run.rerun = { from: begin, to: until, part: 0 };
  try {
    const ended = await client.call(
      'run',
      { ...asked(), fingerprint: false, packets_from: begin, packets_until: until, until_s: until },
      (now) => {
        if (isCurrent(mine)) run.rerun = { from: begin, to: until, part: now / until };
      },
    );
    if (!isCurrent(mine)) return false;
    run.recordedRange =
      ended.cut_short === 'stopped' ? { ...ended.recorded, to_s: ended.recorded.from_s } : ended.recorded;
    run.rerun = null;
    document.documentElement.dataset.bytes = String((run.bytes = ended.bytes));
    wanted = null;
    if (!covered(from, to)) wanted = [begin, until]; // the log was full: it is not tried again
    await look();
    return covered(from, to);
  } catch (error) {
    if (isCurrent(mine)) {
      run.rerun = null;
      run.failure = (error as Error).message;
    }
    return false;
  }
}
export async function flights(from: number, to: number): Promise<Flights | null> {
  if (!client || run.status !== 'ended' || run.rerun || run.recordedRun?.packets === false) return null;
  if (!run.recordedRun && !covered(from, to) && !(await record(from, to))) return null;
  try {
    return await client.call('flights', { from, to });
  } catch {
    return null;
  }
}
export async function transmissions(from: number, to: number): Promise<Transmissions | null> {
  if (!client || run.status !== 'ended' || run.rerun) return null;
  if (!covered(from, to) && !(await record(from, to))) return null;
  try {
    return await client.call('transmissions', { from, to });
  } catch {
    return null;
  }
}
/** What happens to packets in an interval: on links, or by radio. */
export async function happenings(from: number, to: number): Promise<Flights | null> {
  if (scenario.checked?.kind !== 'radio') return flights(from, to);
  const found = await transmissions(from, to);
  return found && asFlights(found);
}
export async function explain(at: number, flow: string | undefined, cut: boolean): Promise<void> {
  if (!client || run.status !== 'ended' || run.rerun) return;
  Object.assign(run, { why: null, whyNote: '' });
  const ask = { at_s: at, cut, ...(flow ? { flow } : {}) };
  const before = Math.max(0, at - longest() * 0.9);
  try {
    if (covered(at, at)) {
      try {
        run.why = await client.call('why', ask);
        return;
      } catch (error) {
        if (covered(before, at)) throw error;
      }
    }
    run.whyNote = 'The packets before this time are being recorded.';
    await record(before, at);
    run.whyNote = '';
    run.why = await client.call('why', ask);
  } catch (error) {
    run.whyNote = error instanceof Refused || error instanceof Failed ? error.message : String(error);
  }
}
