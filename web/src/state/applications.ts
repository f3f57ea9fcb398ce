/** The messages of applications, as panels of the charts and as distributions. Pure. */
import { MESSAGE, type AppOutcome, type Application, type Messages, type Outcome } from '../core/types';
import type { Curve, PanelData } from './panels';
import { digits, duration } from './units';

const NONE = new Float64Array(0);
/** Applications of a kind that have panels of their own. */
const MOST_OWN = 3;
/** Colours by their numbers: of what is in time, late, lost, and under way. */
const GOOD = 2,
  LATE = 1,
  LOST = 3,
  OPEN = 6;

export interface Shown {
  applications: readonly Application[];
  messages: Messages;
  /** The outcome, after the end. */
  outcome: Outcome | null;
  hidden: ReadonlySet<number>;
  from: number;
  to: number;
  /** The end of the run so far. */
  now: number;
}

/** A column of the messages. */
export const column = (messages: Messages, number: number): Float64Array =>
  messages.data.subarray(number * messages.rows, (number + 1) * messages.rows);
const marks = (label: string, mark: Curve['mark'], hue: number, points: [number, number][]): Curve => ({
  label,
  flow: null,
  kind: 'marks',
  role: 'message',
  mark,
  hue,
  x: Float64Array.from(points, (p) => p[0]),
  y: Float64Array.from(points, (p) => p[1]),
});
const panel = (id: string, title: string, unit: string, curves: Curve[], more: Partial<PanelData> = {}): PanelData => ({
  id,
  title,
  unit,
  curves,
  ticks: NONE,
  top: null,
  names: '',
  group: 'Application',
  ...more,
});
export const appOf = (outcome: Outcome | null, app: Application): AppOutcome | null =>
  outcome?.flows[app.flow]?.app ?? null;

/** The delay of each frame, with the deadline. */
function frames(app: Application, number: number, shown: Shown): PanelData[] {
  const { messages, from, to, now } = shown,
    [apps, starts, ends, states] = [MESSAGE.app, MESSAGE.start, MESSAGE.end, MESSAGE.state].map((c) =>
      column(messages, c),
    ) as [Float64Array, Float64Array, Float64Array, Float64Array];
  const points: Record<string, [number, number][]> = {};
  const deadline = (app.deadline_s ?? 0) * 1e3;
  let most = deadline * 1.6,
    any = false;
  for (let i = 0; i < messages.rows; i++) {
    const start = starts[i]!;
    if (apps[i] !== number) continue;
    any = true;
    if (start < from || start > to) continue;
    const state = messages.states[states[i]!] ?? '',
      delay = state === 'unfinished' ? now - start : ends[i]! - start,
      // What did not arrive has no delay: it is marked on the axis.
      y = state === 'dropped' || state === 'cancelled' ? 0 : delay * 1e3;
    (points[state] ??= []).push([start, y]);
    if (y > most) most = y;
  }
  const of = (state: string, label: string, mark: Curve['mark'], hue: number): Curve[] =>
    points[state] ? [marks(label, mark, hue, points[state])] : [];
  const line: Curve = {
    label: `deadline ${digits(deadline, 4)} ms`,
    flow: null,
    kind: 'line',
    role: 'deadline',
    x: Float64Array.of(from, to),
    y: Float64Array.of(deadline, deadline),
  };
  if (!any) return [];
  return [
    panel(
      `frames:${app.name}`,
      `Delay of each frame of ${app.name}`,
      'ms',
      [
        line,
        ...of('on_time', 'on time', 'dot', GOOD),
        ...of('late', 'late', 'triangle', LATE),
        ...of('dropped', 'dropped before it was sent', 'cross', LOST),
        ...of('cancelled', 'cancelled', 'cross', LOST),
        ...of('unfinished', 'under way', 'ring', OPEN),
      ],
      { top: most * 1.08, note: 'from capture to the last byte at the receiver' },
    ),
  ];
}

/** Playing time in the buffer of a player between its chunks: it falls by one second a second while the video plays. */
function buffer(app: AppOutcome, until: number): [number, number][] {
  const log = app.chunk_log ?? [],
    chunk = log[0]?.buffer_s ?? 0,
    points: [number, number][] = [];
  log.forEach(({ end_s, buffer_s }, i) => {
    points.push([end_s, buffer_s]);
    const next = log[i + 1];
    const left = next ? Math.max(0, next.buffer_s - chunk) : Math.max(0, buffer_s - (until - end_s));
    if (app.startup_s === null || left >= buffer_s) points.push([next?.end_s ?? until, buffer_s]);
    else points.push([Math.min(end_s + buffer_s - left, next?.end_s ?? until), left], [next?.end_s ?? until, left]);
  });
  return points;
}
/** The buffer and the rates of a player; after the end of the run. */
function player(app: Application, shown: Shown): PanelData[] {
  const of = appOf(shown.outcome, app),
    log = of?.chunk_log;
  if (!of || !log?.length) return [];
  const curve = (label: string, kind: Curve['kind'], points: [number, number][], more: Partial<Curve> = {}): Curve => ({
    label,
    flow: null,
    // A panel of one flow has solid lines.
    hue: app.flow % 7,
    kind,
    role: 'message',
    x: Float64Array.from(points, (p) => p[0]),
    y: Float64Array.from(points, (p) => p[1]),
    ...more,
  });
  const last = log[log.length - 1]!;
  return [
    panel(
      `buffer:${app.name}`,
      `Buffer of the player ${app.name}`,
      's',
      [curve('playing time in the buffer', 'line', buffer(of, shown.now))],
      { note: 'at 0 the picture stands still' },
    ),
    panel(`bitrate:${app.name}`, `Bitrate of ${app.name}`, 'Mb/s', [
      curve('chunk that is fetched', 'step', [
        ...log.map((c): [number, number] => [c.asked_s, c.bitrate_bps * 1e-6]),
        [last.end_s, last.bitrate_bps * 1e-6],
      ]),
      curve(
        'estimate of the throughput',
        'step',
        log.flatMap((c): [number, number][] => (c.estimate_bps === null ? [] : [[c.asked_s, c.estimate_bps * 1e-6]])),
        { role: 'estimate' },
      ),
    ]),
  ];
}

/** The objects of pages, a row each: it waits for its first byte, and is received. */
function waterfall(app: Application, number: number, shown: Shown): PanelData {
  const { messages, from, to, now } = shown,
    [apps, numbers, starts, firsts, ends] = [
      MESSAGE.app,
      MESSAGE.number,
      MESSAGE.start,
      MESSAGE.first,
      MESSAGE.end,
    ].map((c) => column(messages, c)) as [Float64Array, Float64Array, Float64Array, Float64Array, Float64Array];
  const objects = app.objects ?? 1,
    bars: Record<'waits' | 'receives', number[][]> = { waits: [], receives: [] };
  let offset = -1;
  for (let i = 0; i < messages.rows; i++) {
    if (apps[i] !== number) continue;
    // Numbers begin after the messages of the handshakes.
    if (offset < 0) offset = numbers[i]!;
    const start = starts[i]!,
      end = Number.isNaN(ends[i]!) ? now : ends[i]!,
      first = Number.isNaN(firsts[i]!) ? end : firsts[i]!;
    if (end < from || start > to) continue;
    const row = ((numbers[i]! - offset) % objects) + 0.5;
    bars.waits.push([start, row, first]);
    bars.receives.push([first, row, end]);
  }
  const curve = (label: string, list: number[][], hue: number | undefined): Curve => ({
    label,
    flow: null,
    kind: 'bars',
    role: 'message',
    x: Float64Array.from(list, (b) => b[0]!),
    y: Float64Array.from(list, (b) => b[1]!),
    to: Float64Array.from(list, (b) => b[2]!),
    ...(hue === undefined ? {} : { hue }),
  });
  return panel(
    `objects:${app.name}`,
    `Objects of ${app.name}`,
    'number',
    [curve('waits for its first byte', bars.waits, undefined), curve('is received', bars.receives, app.flow)],
    { top: objects, down: true, note: 'a row each' },
  );
}

/** The time of each message, at its start. */
function completion(shown: Shown): PanelData[] {
  const { messages, applications, hidden, from, to } = shown,
    [apps, starts, ends] = [MESSAGE.app, MESSAGE.start, MESSAGE.end].map((c) => column(messages, c)) as [
      Float64Array,
      Float64Array,
      Float64Array,
    ];
  const points = applications.map((): [number, number][] => []);
  let most = 0;
  for (let i = 0; i < messages.rows; i++) {
    const start = starts[i]!,
      time = ends[i]! - start;
    if (start < from || start > to || Number.isNaN(time)) continue;
    points[apps[i]!]!.push([start, time * 1e3]);
  }
  const curves = applications.flatMap((app, n) =>
    app.kind === 'frames' || app.kind === 'page' || app.kind === 'video' || hidden.has(app.flow) || !points[n]!.length
      ? []
      : [{ ...marks(app.name, 'dot', app.flow, points[n]!), flow: app.flow }],
  );
  for (const c of curves) for (const v of c.y) if (v > most) most = v;
  return curves.length
    ? [
        panel('completion', 'Time of each message', 'ms', curves, {
          top: most * 1.08,
          note: 'from its request, or its write, to its last byte',
        }),
      ]
    : [];
}

export function appPanels(shown: Shown): PanelData[] {
  const count: Record<string, number> = {},
    own: PanelData[] = [];
  shown.applications.forEach((app, number) => {
    if (shown.hidden.has(app.flow) || (count[app.kind] = (count[app.kind] ?? 0) + 1) > MOST_OWN) return;
    if (app.kind === 'frames') own.push(...frames(app, number, shown));
    else if (app.kind === 'video') own.push(...player(app, shown));
    else if (app.kind === 'page') own.push(waterfall(app, number, shown));
  });
  return [...own, ...completion(shown)];
}

/** The middle of a bucket of a sketch, whose width is 1/64 of its value; of the unit of 1e-12. */
function middle(bucket: number): number {
  const doubling = bucket >> 6,
    place = bucket & 63;
  if (!doubling) return place * 1e-12;
  const width = 2 ** (doubling - 1);
  return ((64 + place) * width + 0.5 * (width - 1)) * 1e-12;
}
/** The shares of messages up to a time, rising; those without an end keep the last share below 1. */
export function cumulative(sketch: readonly [number | null, number][]): [number, number][] {
  const total = sketch.reduce((sum, [, n]) => sum + n, 0);
  let sum = 0;
  return sketch.flatMap(([bucket, n]): [number, number][] => {
    if (bucket === null) return [];
    sum += n;
    return [[middle(bucket), sum / total]];
  });
}

/** What an application has achieved in terms of its kind. */
export function achieved(app: AppOutcome): string {
  const part = (n: number | undefined): string => (app.messages ? `${digits((100 * (n ?? 0)) / app.messages)} %` : '–');
  const some = (n: number | undefined, what: string): string[] => (n ? [`${n} ${what}`] : []);
  const times = (n = 0, s = 0, what: string): string =>
    n === 0 ? `no ${what}` : n === 1 ? `a ${what} of ${duration(s)}` : `${n} ${what}s of ${duration(s)} together`;
  switch (app.kind) {
    case 'requests':
      return `${digits(app.requests_per_s ?? NaN)} requests/s`;
    case 'page':
      return [
        `${app.pages} ${app.pages === 1 ? 'page' : 'pages'}`,
        app.p50_page_s == null ? 'not loaded' : `loaded in ${duration(app.p50_page_s)} (median)`,
        ...(app.byte_index_s == null ? [] : [`bytes arrive after ${duration(app.byte_index_s)} in the mean`]),
      ].join(', ');
    case 'video':
      return [
        app.startup_s == null ? 'never plays' : `plays after ${duration(app.startup_s)}`,
        times(app.stalls, app.stall_s, 'stall'),
        `${digits((app.mean_bitrate_bps ?? NaN) * 1e-6)} Mb/s`,
      ].join(', ');
    case 'frames':
      return [
        `${part(app.on_time)} on time`,
        ...some(app.late, 'late'),
        ...some(app.dropped, 'dropped'),
        ...some(app.cancelled, 'cancelled'),
        times(app.freezes, app.freeze_s, 'freeze'),
        ...(app.encoder_bps == null ? [] : [`encoder ${digits(app.encoder_bps * 1e-6)} Mb/s`]),
      ].join(', ');
    default:
      return '';
  }
}
