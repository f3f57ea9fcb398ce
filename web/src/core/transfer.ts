/** The recording of a real transfer, a capture or a qlog: the curves of one flow. */
import { type Column, column } from './columns';
import { Decimator, type Range } from './decimator';
import { Collector } from './recorded';
import type { Curves, PanelName, Shape } from './types';

/** A flow of a recording (docs/traces.md). What a kind of file does not have is absent. */
export interface TransferFlow {
  flow: number;
  direction?: number;
  /** Its name without addresses. */
  label: string;
  ends?: [string, string];
  names?: [string, string];
  name?: string;
  title?: string;
  vantage?: string;
  duration_s?: number;
  sent_bytes?: number | null;
  sent_packets?: number;
  data_packets?: number;
  retransmitted_packets?: number;
  lost_packets?: number;
  timeouts?: number;
  goodput_bps?: number | null;
  rate_bps?: number | null;
  min_rtt_s?: number | null;
  place?: string;
  reasons?: Record<string, number>;
  time_s?: Record<string, number> | null;
  summary?: string;
  samples?: number;
}
export interface TransferAbout {
  kind: string;
  form: 'capture' | 'qlog' | 'samples';
  bytes: number;
  packets?: number;
  span_s?: number;
  connections_total?: number;
  distrust?: string | null;
  flows: TransferFlow[];
  unknown_fields: string;
  missing: string[];
}
/** `limit`: the label of each key of `time_s`. */
export interface TransferCodes {
  event: string[];
  reason: string[];
  letter: string[];
  words: string[];
  limit: Record<string, string>;
}
/** The cause of an event, with what shows it. */
export interface Cause {
  time_s: number;
  letter: string;
  what: string;
  evidence: string[];
  otherwise: string[];
  unknown: string | null;
}
/** What the core says of a file that it has read. */
export interface TransferRead {
  about: TransferAbout;
  codes: TransferCodes;
  columns: string[];
  rows: number;
  segment_bytes: number;
}
/** A recording that the page shows; `flow`: the number in `about.flows` of the flow with rows. */
export interface TransferShown {
  file: string;
  about: TransferAbout;
  codes: TransferCodes;
  flow: number;
  segment_bytes: number;
  /** Reductions of the flow. */
  reductions: number;
}
/** The same in a file: a page that `ackclock view` or Share wrote (python/ackclock/apps/view/transfer.py). */
export interface TransferFile extends TransferShown {
  v: number;
  columns: Record<string, Column>;
  causes: Cause[];
}

const LONGEST_S = 0.2,
  RATE_BINS = 200,
  MOST_BINS = 4096;

/** Columns in the order of time; rows without a time are numbered. */
function inOrder(columns: Readonly<Record<string, Float64Array>>): Readonly<Record<string, Float64Array>> {
  const recorded = columns.time_s!,
    time = recorded.some((t) => Number.isFinite(t)) ? recorded : recorded.map((_, i) => i);
  let sorted = true;
  for (let i = 1; i < time.length && sorted; i++) sorted = time[i]! >= time[i - 1]!;
  if (sorted) return { ...columns, time_s: time };
  const places = Array.from(time.keys())
    .filter((i) => Number.isFinite(time[i]!))
    .sort((a, b) => time[a]! - time[b]!);
  const order = (values: Float64Array): Float64Array => Float64Array.from(places, (i) => values[i]!);
  return Object.fromEntries(
    Object.entries(columns).map(([name, values]) => [name, order(name === 'time_s' ? time : values)]),
  );
}

/** Rows of a flow, and its curves. Columns in bytes, seconds and bit/s; windows of samples in segments. */
export class Transfer {
  readonly columns: Readonly<Record<string, Float64Array>>;
  constructor(
    readonly about: TransferShown,
    columns: Readonly<Record<string, Float64Array>>,
    readonly causes: readonly Cause[] | null = null,
  ) {
    this.columns = inOrder(columns);
  }
  static of(file: TransferFile): Transfer {
    if (file.v !== 1) throw new Error(`the recording is of version ${String(file.v)}; this page reads version 1`);
    const columns = Object.fromEntries(Object.entries(file.columns).map(([name, packed]) => [name, column(packed)]));
    return new Transfer(file, columns, file.causes);
  }
  shape(): Shape {
    const time = this.columns.time_s!;
    const name = `#${this.about.about.flows[this.about.flow]?.flow ?? 1}`;
    return {
      duration_s: time.at(-1) ?? 0,
      flows: [name],
      flow_ends: [],
      links: [],
      link_ends: [],
      internals: [],
      positions: [],
    };
  }
  why({ at_s }: { at_s: number }): Cause {
    const causes = this.causes ?? [],
      last = causes.findLast((cause) => cause.time_s <= at_s),
      end = causes.at(-1)?.time_s ?? 0;
    if (this.about.reductions > causes.length && at_s > end && last === causes.at(-1))
      throw new Error(
        `The page holds the causes of the first ${causes.length} of ${this.about.reductions} reductions, up to ${end.toFixed(3)} s.`,
      );
    if (!last) throw new Error('The page holds the causes of reductions alone, and none is before this time.');
    return last;
  }
  flights(): never {
    throw new Error('a recording has no packets on links');
  }
  curves(from: number, to: number, px: number): Curves {
    const end = this.columns.time_s!.at(-1) ?? 0,
      range: Range = { from, to: Math.min(to, end), columns: Math.max(1, px) },
      out = new Collector();
    if (range.from >= range.to) return out.curves();
    const add = (panel: PanelName, name: string, key: string, unit: string, steps: boolean, factor = 1): void => {
      const values = this.columns[key];
      if (values?.some((v) => Number.isFinite(v)))
        out.add({ panel, flow: 0, link: null, name, unit }, this.#thinned(values, range, steps, factor));
    };
    add('ssthresh', 'receiver permits', 'window_bytes', 'kB', true, 1e-3);
    add('in_flight', 'in flight', 'outstanding', 'kB', true, 1e-3);
    if (this.about.about.form === 'samples') add('cwnd', 'congestion window', 'cwnd', 'segments', true);
    else add('cwnd', 'congestion window', 'cwnd', 'kB', true, 1e-3);
    add('rtt', 'round-trip time', 'rtt_s', 's', false);
    this.#rate(out, range);
    this.#again(out, range);
    return out.curves();
  }
  #thinned(values: Float64Array, range: Range, steps: boolean, factor: number): readonly [number, number][] {
    const thin = new Decimator(range, steps),
      time = this.columns.time_s!;
    for (let i = 0; i < time.length && time[i]! <= range.to; i++)
      if (!Number.isNaN(values[i]!)) thin.push(time[i]!, values[i]! * factor);
    return thin.finish();
  }
  /** The mean of the delivery rate in bins. */
  #rate(out: Collector, range: Range): void {
    const time = this.columns.time_s!,
      rate = this.columns.delivery_bps;
    if (!rate) return;
    const bins = Math.min(RATE_BINS, Math.max(1, range.columns)),
      wide = Math.max(Math.min((range.to - range.from) / bins, LONGEST_S), (range.to - range.from) / MOST_BINS),
      many = Math.max(1, Math.ceil((range.to - range.from) / wide)),
      sum = new Float64Array(many),
      count = new Uint32Array(many);
    for (let i = 0; i < time.length && time[i]! <= range.to; i++)
      if (time[i]! >= range.from && Number.isFinite(rate[i]!)) {
        const bin = Math.min(many - 1, Math.floor((time[i]! - range.from) / wide));
        sum[bin]! += rate[i]!;
        count[bin]!++;
      }
    const thin = new Decimator(range, true);
    for (let bin = 0; bin < many; bin++) if (count[bin]) thin.push(range.from + bin * wide, sum[bin]! / count[bin]!);
    out.add({ panel: 'goodput', flow: 0, link: null, name: 'delivery rate', unit: 'bit/s' }, thin.finish());
  }
  /** Retransmissions and losses: their times, with the number of their rule. */
  #again(out: Collector, range: Range): void {
    const time = this.columns.time_s!,
      event = this.columns.event!,
      reason = this.columns.reason!,
      again = this.about.codes.event.indexOf('sent_again'),
      lost = this.about.codes.event.indexOf('lost'),
      last = new Map<number, number>(),
      points: [number, number][] = [];
    for (let i = 0; i < time.length && time[i]! <= range.to; i++) {
      if (time[i]! < range.from || (event[i] !== again && event[i] !== lost)) continue;
      const column = Math.floor(((time[i]! - range.from) / (range.to - range.from)) * range.columns);
      if (last.get(reason[i]!) === column) continue;
      last.set(reason[i]!, column);
      points.push([time[i]!, reason[i]!]);
    }
    out.add({ panel: 'drops', flow: 0, link: null, name: 'sent again', unit: '' }, points);
  }
}
