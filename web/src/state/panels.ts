/** The series of the core, as panels of a chart. Pure. */
import type { Curves, PanelName, SeriesInfo } from '../core/types';

export interface Curve {
  label: string;
  flow: number | null;
  /** `bars`: from `x` to `to`; `marks`: points with a shape. */
  kind: 'step' | 'dots' | 'line' | 'bars' | 'marks';
  role: PanelName | 'message' | 'deadline' | 'estimate';
  x: Float64Array;
  y: Float64Array;
  to?: Float64Array;
  mark?: 'dot' | 'triangle' | 'cross' | 'ring' | undefined;
  run?: number;
  hue?: number;
}
/** Of many flows the 10th, 50th and 90th percentile over time. */
export interface Band {
  low: Curve;
  middle: Curve;
  high: Curve;
}
/** `names`: the curves are not those of flows, so the panel has their names, and this text after them. */
export interface PanelData {
  id: string;
  title: string;
  unit: string;
  curves: Curve[];
  ticks: Float64Array;
  top: number | null;
  band?: Band;
  names?: string;
  /** The heading above the panels of a group. */
  group?: string;
  /** The vertical axis goes down. */
  down?: boolean;
  /** What the values are. */
  note?: string;
}
export interface Wanted {
  link: number | null;
  hidden: ReadonlySet<number>;
  inFlight: boolean;
  internals: readonly string[];
}

const SCALE: Record<string, { unit: string; factor: number }> = {
  s: { unit: 'ms', factor: 1e3 },
  bps: { unit: 'Mb/s', factor: 1e-6 },
  'bit/s': { unit: 'Mb/s', factor: 1e-6 },
  'b/s': { unit: 'Mb/s', factor: 1e-6 },
};
export const scaled = (unit: string): { unit: string; factor: number } => SCALE[unit] ?? { unit, factor: 1 };
/** A threshold that was never set is drawn nowhere. */
const FAR = 1e9;

export function curveOf(curves: Curves, info: SeriesInfo): Curve {
  const { start, points } = info,
    { factor } = scaled(info.unit);
  const x = curves.data.subarray(start, start + points),
    raw = curves.data.subarray(start + points, start + 2 * points);
  const y = new Float64Array(points);
  for (let i = 0; i < points; i++)
    y[i] = Math.abs(raw[i]!) > FAR && info.panel !== 'internal' && info.panel !== 'goodput' ? NaN : raw[i]! * factor;
  const kind =
    info.panel === 'rtt' || info.panel === 'delay' || info.panel === 'packets'
      ? 'dots'
      : info.panel === 'goodput'
        ? 'step'
        : 'step';
  return { label: info.name, flow: info.flow, kind, role: info.panel, x, y };
}

export const internalNames = (curves: Curves): string[] => [
  ...new Set(curves.series.filter((s) => s.panel === 'internal').map((s) => s.name)),
];

export function panels(curves: Curves, wanted: Wanted): PanelData[] {
  const of = (panel: PanelName): SeriesInfo[] =>
    curves.series.filter((s) => s.panel === panel && (s.flow === null || !wanted.hidden.has(s.flow)));
  const make = (infos: SeriesInfo[]): Curve[] => infos.map((info) => curveOf(curves, info));
  const cwnd = make(of('cwnd'));
  const out: PanelData[] = [];
  const none = new Float64Array(0);
  if (cwnd.length) {
    const [low, middle, high] = make(of('percentile'));
    const band = low && middle && high ? { low, middle, high } : undefined;
    const top =
      [...cwnd, ...(high ? [high] : [])].reduce((most, c) => c.y.reduce((m, v) => (v > m ? v : m), most), 1) * 1.12;
    out.push({
      id: 'cwnd',
      title: 'Congestion window',
      unit: 'segments',
      curves: [...make(of('ssthresh')), ...(wanted.inFlight ? make(of('in_flight')) : []), ...cwnd],
      ticks: none,
      top,
      ...(band ? { band } : {}),
    });
  }
  const rtt = of('rtt');
  if (rtt.some((s) => s.points > 0))
    out.push({ id: 'rtt', title: 'Round-trip time', unit: 'ms', curves: make(rtt), ticks: none, top: null });
  // Beside the round-trip times of TCP flows: a flow without a window, such as a call, has only this one.
  const delay = of('delay');
  const windows = new Set(of('cwnd').map((s) => s.flow));
  if (delay.some((s) => !windows.has(s.flow)))
    out.push({ id: 'delay', title: 'One-way delay', unit: 'ms', curves: make(delay), ticks: none, top: null });
  const queue = curves.series.filter((s) => s.panel === 'queue' && s.link === wanted.link);
  if (queue.length) {
    const drops = curves.series.filter((s) => s.panel === 'drops' && s.link === wanted.link);
    const times = drops.map((d) => curves.data.subarray(d.start, d.start + d.points));
    out.push({
      id: 'queue',
      title: 'Queue',
      unit: scaled(queue[0]!.unit).unit,
      curves: make(queue),
      ticks: times[0] ?? none,
      top: null,
    });
  }
  out.push(...channelPanels(curves, wanted.link));
  const goodput = of('goodput');
  if (goodput.some((s) => s.points > 0))
    out.push({ id: 'goodput', title: 'Goodput', unit: 'Mb/s', curves: make(goodput), ticks: none, top: null });
  for (const name of wanted.internals) {
    const infos = of('internal').filter((s) => s.name === name);
    if (infos.length)
      out.push({
        id: `internal:${name}`,
        title: name,
        unit: scaled(infos[0]!.unit).unit,
        curves: make(infos),
        ticks: none,
        top: null,
      });
  }
  return out;
}

/** The panels of a recording of a real transfer: what is in flight with its limits, round-trip times, delivery rate. */
export function transferPanels(curves: Curves): PanelData[] {
  const of = (...panels: PanelName[]): Curve[] =>
    curves.series
      .filter((s) => panels.includes(s.panel))
      .map((s) => curveOf(curves, s))
      .map((c, hue) => (panels.length > 1 ? { ...c, hue } : c));
  const again = curves.series.find((s) => s.panel === 'drops'),
    none = new Float64Array(0);
  const flight = of('in_flight', 'cwnd', 'ssthresh'),
    unit = curves.series.find((s) => s.panel === 'in_flight' || s.panel === 'cwnd')?.unit ?? 'kB';
  // A receiver that permits much more than is ever in flight does not press the other curves flat.
  const top = flight
    .filter((c) => c.role !== 'ssthresh')
    .reduce((most, c) => c.y.reduce((m, v) => (v > m ? v : m), most), 0);
  const panels: PanelData[] = [];
  if (flight.length)
    panels.push({
      id: 'flight',
      title: flight.some((c) => c.role === 'in_flight') ? 'In flight' : 'Congestion window',
      unit,
      curves: flight,
      ticks: again ? curves.data.subarray(again.start, again.start + again.points) : none,
      top: top > 0 ? top * 1.25 : null,
      names: '',
    });
  for (const [panel, title, unit] of [
    ['rtt', 'Round-trip time', 'ms'],
    ['goodput', 'Delivery rate', 'Mb/s'],
  ] as const) {
    const list = of(panel);
    if (list.some((c) => c.x.length > 0)) panels.push({ id: panel, title, unit, curves: list, ticks: none, top: null });
  }
  return panels;
}

/** Links of a channel that have a curve: those that use it most. */
const MOST_LINKS = 7;
/** Who uses the channel of a link, or the first one of the network, and how much a transmission of the link carries. */
function channelPanels(curves: Curves, link: number | null): PanelData[] {
  const all = curves.series.filter((s) => s.panel === 'use');
  const channel = (all.find((s) => s.link === link) ?? all[0])?.channel;
  const use = all.filter((s) => s.channel === channel).map((s) => ({ link: s.link, curve: curveOf(curves, s) }));
  if (!use.length) return [];
  const total = (c: Curve): number => c.y.reduce((sum, v) => sum + v, 0);
  const most = [...use].sort((a, b) => total(b.curve) - total(a.curve)).slice(0, MOST_LINKS);
  const shown = use.some((u) => u.link === link) ? link : most[0]!.link;
  const packets = curves.series.filter((s) => s.panel === 'packets' && s.link === shown).map((s) => curveOf(curves, s));
  const none = new Float64Array(0),
    more = use.length - most.length;
  const panels: PanelData[] = [
    {
      id: 'use',
      title: 'Use of the channel',
      unit: '%',
      curves: use.filter((u) => most.includes(u)).map((u, hue) => ({ ...u.curve, hue })),
      ticks: none,
      top: 105,
      names: more ? `and ${more} more links` : '',
    },
  ];
  if (packets.length)
    panels.push({
      id: 'packets',
      title: 'Packets in a transmission',
      unit: 'packets',
      curves: packets,
      ticks: none,
      top: null,
      names: '',
    });
  return panels;
}

/** Two runs in one set of panels; `hue` is the number of the colour of a flow in the first (0) or the second run (1). Of the second only what is from `from` on. */
export function overlaid(
  first: PanelData[],
  second: PanelData[],
  hue: (flow: number, which: 0 | 1) => number,
  from = 0,
): PanelData[] {
  const side = (list: Curve[], which: 0 | 1): Curve[] =>
    list
      .filter((c) => c.role !== 'ssthresh')
      .map((c) => ({
        ...c,
        ...(which ? { ...after(c, from), run: 1 } : {}),
        hue: c.flow === null ? c.hue : hue(c.flow, which),
      }));
  return first.map((panel) => {
    const other = second.find((p) => p.id === panel.id);
    return {
      ...panel,
      top: panel.top === null ? null : Math.max(panel.top, other?.top ?? 0),
      curves: [...side(panel.curves, 0), ...side(other?.curves ?? [], 1)],
    };
  });
}
/** A curve from a time on, with the value that holds then. */
function after(curve: Curve, from: number): { x: Float64Array; y: Float64Array } {
  let first = 0;
  while (first + 1 < curve.x.length && curve.x[first + 1]! <= from) first++;
  return { x: curve.x.subarray(first), y: curve.y.subarray(first) };
}

/** The last value at or before a time; NaN before the first. */
export function valueAt(curve: { x: Float64Array; y: Float64Array }, at: number): number {
  let low = 0,
    high = curve.x.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (curve.x[mid]! <= at) low = mid + 1;
    else high = mid;
  }
  return low ? curve.y[low - 1]! : NaN;
}
/** The fall of a curve nearest to a time, within `reach` seconds: its time; null if there is none. */
export function fallNear(curve: { x: Float64Array; y: Float64Array }, at: number, reach: number): number | null {
  let best: number | null = null;
  for (let i = 1; i < curve.x.length; i++) {
    const t = curve.x[i]!;
    if (t > at + reach) break;
    if (t < at - reach || !(curve.y[i]! < curve.y[i - 1]!)) continue;
    if (best === null || Math.abs(t - at) < Math.abs(best - at)) best = t;
  }
  return best;
}
