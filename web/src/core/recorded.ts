/** A recorded run: the curves and packets of its columns, as the core gives those of a run of its own (crates/lab/src/view). */
import { type Column, column, middle, small } from './columns';
import { Decimator, type Range } from './decimator';
import {
  FLIGHT,
  type Curves,
  type Flights,
  type Outcome,
  type PanelName,
  type SeriesInfo,
  type Shape,
  type Why,
} from './types';
import type { Shared } from '../share/link';

export interface RunMetadata {
  version: string;
  engine: string;
  title: string;
  file: string;
  seed: number;
  duration_s: number;
  shared: Shared;
  geometry: Shared | null;
  python: string[];
  flows: string[];
  flow_ends: [string, string][];
  segment_bytes: (number | null)[];
  links: string[];
  outcome: Outcome | null;
  fingerprint: string;
}
export interface Recording {
  v: number;
  about: RunMetadata;
  trace: 'ack' | 'changes' | 'off';
  notes: string[];
  codes: { packet_event: string[]; reason: string[]; kind: string[] };
  windows: Record<string, Column>;
  internals: Record<string, Column>;
  packets: Record<string, Column> | null;
  /** Of reductions of windows, in the order of time. */
  causes?: Why[] | null;
  causes_until_s?: number;
}
interface Log {
  time: Float64Array;
  link: Uint32Array;
  event: Uint8Array;
  reason: Uint8Array;
  flow: Uint32Array;
  kind: Uint8Array;
  seq: Float64Array;
}
/** For each packet that a queue takes, its row, and the times of its departure and its end; NaN without one. */
interface PacketTimes {
  row: Uint32Array;
  depart: Float64Array;
  end: Float64Array;
  fate: Uint8Array;
  longest: number;
  open: number[];
}

const GOODPUT_BINS = 120,
  DROPS_PER_COLUMN = 4,
  MOST_FLIGHTS = 20_000;
const AFTER_QUEUE = ['loss', 'handoff', 'aqm'],
  BY_QUEUE = ['queue', 'aqm'],
  ON_LINK = ['loss', 'handoff'];
const ARRIVES = 0,
  DROPPED_BY_QUEUE = 1,
  LOST_ON_LINK = 2,
  DROPPED = 3;

/** Columns of windows that are drawn as panels. */
const PANELS: [PanelName, string, string, boolean][] = [
  ['cwnd', 'cwnd', 'segments', true],
  ['ssthresh', 'ssthresh', 'segments', true],
  ['in_flight', 'in_flight', 'segments', true],
  ['rtt', 'rtt_s', 's', false],
];

export class Recorded {
  readonly #columns = new Map<string, Float64Array>();
  readonly #flow: Uint32Array;
  readonly #log: Log | null;
  #packetTimes: PacketTimes | null = null;

  constructor(readonly recording: Recording) {
    if (recording.v !== 1)
      throw new Error(`the recording is of version ${String(recording.v)}; this page reads version 1`);
    for (const [name, packed] of [...Object.entries(recording.windows), ...Object.entries(recording.internals)])
      if (name !== 'flow') this.#columns.set(name, column(packed));
    this.#flow = recording.windows.flow ? middle(recording.windows.flow) : new Uint32Array(0);
    const p = recording.packets;
    this.#log = p && {
      time: column(p.time_s!),
      link: middle(p.link!),
      event: small(p.event!),
      reason: small(p.reason!),
      flow: middle(p.flow!),
      kind: small(p.kind!),
      seq: column(p.seq!),
    };
  }
  shape(): Omit<Shape, 'positions'> {
    const { about, internals } = this.recording;
    const ends = about.links.map((name): [string, string] => {
      const [a = '', b = ''] = name.split('->');
      return [a, b];
    });
    return {
      duration_s: about.duration_s,
      flows: about.flows,
      flow_ends: about.flow_ends,
      links: about.links,
      link_ends: ends,
      internals: Object.keys(internals),
      applications: [],
    };
  }
  /** The cause of the last reduction up to a time; of a recovery, that of its begin. */
  why({ at_s, flow, cut }: { at_s: number; flow?: string; cut: boolean }): Why {
    const until = this.recording.causes_until_s ?? 0;
    if (!cut) throw new Error('The recording has the causes of falls of the window alone: click a fall.');
    if (at_s > until && until < this.recording.about.duration_s)
      throw new Error(`The recording has the causes of falls up to ${until.toPrecision(6)} s.`);
    const last = (this.recording.causes ?? []).findLast((why) => why.time_s <= at_s && (!flow || why.flow === flow));
    if (!last)
      throw new Error(`No event reduced ${flow ? `${flow}'s window` : 'a window'} until ${at_s.toPrecision(6)} s.`);
    return last;
  }
  /** Bytes of the columns in memory. */
  get bytes(): number {
    const log = this.#log ? Object.values(this.#log as unknown as Record<string, { byteLength: number }>) : [];
    return [...this.#columns.values(), this.#flow, ...log].reduce((sum, c) => sum + c.byteLength, 0);
  }
  #code(list: 'packet_event' | 'reason' | 'kind', name: string): number {
    return this.recording.codes[list].indexOf(name);
  }

  curves(from: number, to: number, px: number): Curves {
    const range: Range = { from, to: Math.min(to, this.recording.about.duration_s), columns: Math.max(1, px) };
    const out = new Collector();
    if (range.from < range.to) {
      this.#windows(out, range);
      if (this.recording.trace === 'ack') this.#goodput(out, range);
      if (this.#log) this.#queues(out, range, this.#log);
    }
    return out.curves();
  }
  #windows(out: Collector, range: Range): void {
    const names = this.recording.about.flows;
    const each = (
      panel: PanelName,
      values: Float64Array | undefined,
      unit: string,
      steps: boolean,
      name?: string,
    ): void => {
      if (values)
        this.#byFlow(values, range, steps).forEach((d, flow) =>
          out.add({ panel, flow, link: null, name: name ?? names[flow]!, unit }, d.finish()),
        );
    };
    for (const [panel, key, unit, steps] of PANELS) each(panel, this.#columns.get(key), unit, steps);
    for (const name of Object.keys(this.recording.internals)) each('internal', this.#columns.get(name), '', true, name);
  }
  #byFlow(values: Float64Array, range: Range, steps: boolean): Decimator[] {
    const each = this.recording.about.flows.map(() => new Decimator(range, steps)),
      time = this.#columns.get('time_s')!;
    for (let i = 0; i < time.length && time[i]! <= range.to; i++) each[this.#flow[i]!]?.push(time[i]!, values[i]!);
    return each;
  }
  /** The rate at which data is acknowledged, in bins of at least two round-trip times. */
  #goodput(out: Collector, range: Range): void {
    const time = this.#columns.get('time_s')!,
      rtt = this.#columns.get('rtt_s'),
      ack = this.#columns.get('ack'),
      n = this.recording.about.flows.length;
    if (!rtt || !ack) return;
    const sum = new Float64Array(n),
      count = new Uint32Array(n),
      highest = new Float64Array(n).fill(-1);
    for (let i = 0; i < time.length; i++)
      if (Number.isFinite(rtt[i]!)) {
        sum[this.#flow[i]!]! += rtt[i]!;
        count[this.#flow[i]!]!++;
      }
    const wide = range.to - range.from;
    const bin = Array.from(sum, (total, f) => Math.max(wide / GOODPUT_BINS, (2 * total) / Math.max(1, count[f]!)));
    const acked = bin.map((b) => new Float64Array(Math.floor(wide / b + 1e-9)));
    for (let i = 0; i < time.length && time[i]! <= range.to; i++) {
      const f = this.#flow[i]!,
        news = Math.max(0, ack[i]! - highest[f]!),
        k = Math.floor((time[i]! - range.from) / bin[f]!);
      highest[f] = Math.max(highest[f]!, ack[i]!);
      if (time[i]! >= range.from && k < acked[f]!.length) acked[f]![k]! += news;
    }
    this.recording.about.flows.forEach((name, f) => {
      const bytes = this.recording.about.segment_bytes[f];
      if (bytes == null || highest[f]! < 0) return;
      const points = Array.from(acked[f]!, (segments, i): [number, number] => [
        range.from + i * bin[f]!,
        (segments * bytes * 8) / bin[f]!,
      ]);
      const last = points.at(-1);
      if (last) points.push([last[0] + bin[f]!, last[1]]);
      out.add({ panel: 'goodput', flow: f, link: null, name, unit: 'bit/s' }, points);
    });
  }
  /** Packets that each link holds, the one in transmission included, and drops with the number of their flow. */
  #queues(out: Collector, range: Range, log: Log): void {
    const links = this.recording.about.links,
      held = new Int32Array(links.length),
      aqm = this.#code('reason', 'aqm');
    const enqueue = this.#code('packet_event', 'enqueue'),
      depart = this.#code('packet_event', 'depart'),
      drop = this.#code('packet_event', 'drop');
    const each = links.map(() => new Decimator(range, true)),
      drops = links.map((): [number, number][] => []);
    const lastColumn = new Int32Array(links.length).fill(-1),
      listed = new Int32Array(links.length);
    for (let i = 0; i < log.time.length && log.time[i]! <= range.to; i++) {
      const at = log.time[i]!,
        link = log.link[i]!,
        event = log.event[i]!;
      const change = event === enqueue ? 1 : event === depart || (event === drop && log.reason[i] === aqm) ? -1 : 0;
      if (change) each[link]!.push(at, (held[link]! += change));
      if (event !== drop || at < range.from) continue;
      const c = each[link]!.columnOf(at);
      listed[link] = lastColumn[link] === c ? listed[link]! + 1 : 1;
      lastColumn[link] = c;
      if (listed[link]! <= DROPS_PER_COLUMN) drops[link]!.push([at, log.flow[i]!]);
    }
    links.forEach((name, link) => {
      out.add({ panel: 'queue', flow: null, link, name, unit: 'packets' }, each[link]!.finish());
      out.add({ panel: 'drops', flow: null, link, name, unit: '' }, drops[link]!);
    });
  }

  flights(from: number, to: number): Flights {
    const log = this.#log;
    if (!log) return { rows: 0, left_out: 0, data: new Float64Array(0) };
    const all = (this.#packetTimes ??= this.#follow(log)),
      rows: number[] = [];
    let left = 0;
    const add = (k: number): void => {
      const row = all.row[k]!,
        end = all.end[k]!,
        fate = all.fate[k]!;
      if (log.time[row]! > to || end < from) return;
      if (rows.length >= MOST_FLIGHTS * FLIGHT.width) {
        left++;
        return;
      }
      rows.push(
        log.link[row]!,
        log.time[row]!,
        all.depart[k]!,
        fate === ARRIVES ? end : NaN,
        log.flow[row]!,
        log.kind[row]!,
        log.seq[row]!,
        fate,
      );
    };
    for (const k of all.open) if (log.time[all.row[k]!]! < from - all.longest) add(k);
    let k = 0,
      high = all.row.length;
    while (k < high) {
      const mid = (k + high) >> 1;
      if (log.time[all.row[mid]!]! < from - all.longest) k = mid + 1;
      else high = mid;
    }
    for (; k < all.row.length && log.time[all.row[k]!]! <= to; k++) add(k);
    return { rows: rows.length / FLIGHT.width, left_out: left, data: Float64Array.from(rows) };
  }
  /** Copies of one packet leave a link in the order in which they came. */
  #follow(log: Log): PacketTimes {
    const enqueue = this.#code('packet_event', 'enqueue'),
      departs = this.#code('packet_event', 'depart'),
      dropped = this.#code('packet_event', 'drop');
    const reasons = this.recording.codes.reason,
      after = reasons.map((r) => AFTER_QUEUE.includes(r));
    const fates = reasons.map((r) =>
      BY_QUEUE.includes(r) ? DROPPED_BY_QUEUE : ON_LINK.includes(r) ? LOST_ON_LINK : DROPPED,
    );
    const flows = this.recording.about.flows.length,
      links = this.recording.about.links.length;
    const row: number[] = [],
      depart: number[] = [],
      end: number[] = [],
      fate: number[] = [];
    const waiting = new Map<number, number[]>();
    let longest = 0;
    for (let i = 0; i < log.time.length; i++) {
      const event = log.event[i]!,
        at = log.time[i]!,
        key = (((log.seq[i]! + 1) * flows + log.flow[i]!) * 2 + log.kind[i]!) * links + log.link[i]!;
      const before = event === dropped && !after[log.reason[i]!];
      if (event === enqueue || before) {
        if (!before) {
          const list = waiting.get(key);
          if (list) list.push(row.length);
          else waiting.set(key, [row.length]);
        }
        row.push(i);
        depart.push(NaN);
        end.push(before ? at : NaN);
        fate.push(before ? fates[log.reason[i]!]! : ARRIVES);
        continue;
      }
      const list = waiting.get(key);
      if (!list) continue;
      if (event === departs) {
        const k = list.find((k) => Number.isNaN(depart[k]!));
        if (k !== undefined) depart[k] = at;
        continue;
      }
      const k = list.shift()!;
      if (!list.length) waiting.delete(key);
      end[k] = at;
      if (event === dropped) fate[k] = fates[log.reason[i]!]!;
      longest = Math.max(longest, at - log.time[row[k]!]!);
    }
    const open = [...waiting.values()].flat().sort((a, b) => a - b);
    return {
      row: Uint32Array.from(row),
      depart: Float64Array.from(depart),
      end: Float64Array.from(end),
      fate: Uint8Array.from(fate),
      longest,
      open,
    };
  }
}

/** Curves, and their points one after the other: for each the times, then the values. */
export class Collector {
  readonly #series: SeriesInfo[] = [];
  readonly #data: number[] = [];
  add(of: Omit<SeriesInfo, 'start' | 'points'>, points: readonly [number, number][]): void {
    if (!points.length) return;
    this.#series.push({ ...of, start: this.#data.length, points: points.length });
    for (const p of points) this.#data.push(p[0]);
    for (const p of points) this.#data.push(p[1]);
  }
  curves(): Curves {
    return { series: this.#series, data: Float64Array.from(this.#data) };
  }
}
