/** What the core takes and gives: the JSON of its C ABI. Times in seconds, rates in bit/s, windows in segments. */
export interface FileContent {
  text?: string;
  base64?: string;
}
/** What a file is, and what can be done with it. */
export interface FileKind {
  recording: boolean;
  words: string;
  remedy: string;
}
export type Files = Record<string, FileContent>;
export interface ScenarioRequest {
  file: string;
  text: string;
  set: string[];
  seed?: number;
}
export interface RunRequest extends ScenarioRequest {
  trace: 'ack' | 'changes' | 'off';
  packets: boolean;
  packets_from?: number;
  packets_until?: number;
  /** Record why queues and impairments dropped or marked. */
  rules?: boolean;
  /** Bound the memory of the records: rows of `packets_from` to `packets_until` alone and until a log is full, and thinned curves of the whole run. */
  bounded?: boolean;
  /** Of the page: end the run when it has reached this time. */
  until_s?: number;
  radio?: boolean;
  fingerprint: boolean;
  controllers?: Record<string, PageClass>;
}
/** A controller class of the page, as the core needs it. */
export interface PageClass {
  name: string;
  probes?: string[];
  needs?: string[];
  initial_window?: number;
}
/** The interval whose rows are recorded, and the number of rows of the run so far. */
export interface Recorded {
  from_s: number;
  to_s: number;
  window_rows: number;
  packet_events: number;
  kept_rows: [number, number, number];
}
export interface Problem {
  file?: string;
  line?: number | null;
  key?: string;
  message: string;
  full?: string;
}
export interface DirectionInfo {
  rate_bps: number | null;
  delay_s: number | null;
  queue: string;
  loss: string;
  router: string;
}
export interface NetworkInfo {
  links: { ends: [string, string]; directions: [DirectionInfo, DirectionInfo] }[];
  flows: { name: string; from: string; to: string; kind: string; label: string; start_s: number }[];
  terminals: [string, number, number][];
  satellites: number;
  satellite_links: [string, DirectionInfo][];
  radio: unknown;
}
/** `link_names`: as keys of `--set` name the links; `changes`: the names of the scenario's changes. */
export interface Checked {
  link_names: string[];
  changes: string[];
  title: string;
  seed: number;
  duration_s: number;
  is_study: boolean;
  advice: string[];
  kind: 'wired' | 'satellites' | 'radio';
  network: NetworkInfo;
  positions: NodePosition[];
}
export interface Shape {
  duration_s: number;
  flows: string[];
  flow_ends: [string, string][];
  links: string[];
  link_ends: [string, string][];
  internals: string[];
  positions: NodePosition[];
  applications?: Application[];
}
/** An application: the flows of its connections are those from `flow` on. `deadline_s`: of frames; `objects`: of a page. */
export interface Application {
  name: string;
  flow: number;
  connections: number;
  kind: 'rate' | 'on_off' | 'requests' | 'page' | 'video' | 'frames';
  deadline_s: number | null;
  objects: number | null;
}
/** Columns of `rows` numbers each: number of the application, number of the message, bytes, start, first byte, end, ideal time, state. */
export interface Messages {
  rows: number;
  total: number;
  states: string[];
  data: Float64Array;
}
export const MESSAGE = { app: 0, number: 1, bytes: 2, start: 3, first: 4, end: 5, ideal: 6, state: 7 } as const;
/** Of a drawing; columns and rows from 0, also between whole numbers. */
export interface NodePosition {
  node: string;
  column: number;
  row: number;
  rows: number;
}
export interface FlowOutcome {
  name: string;
  kind: string;
  control: string | null;
  recovery: string | null;
  goodput_bps: number | null;
  retransmitted_packets: number | null;
  timeouts: number | null;
  window_cuts?: number | null;
  mean_cwnd: number | null;
  mean_rtt_s: number | null;
  min_rtt_s: number | null;
  mean_delay_s: number | null;
  completion_s: number | null;
  /** How a QUIC flow lost its connection; null if it did not, absent for other flows. */
  connection_error?: string | null;
  app?: AppOutcome;
  [key: string]: unknown;
}
/** What an application has done; the keys of other kinds are absent. */
export interface AppOutcome {
  kind: Application['kind'];
  messages: number;
  finished: number;
  p50_s: number | null;
  p95_s: number | null;
  p99_s: number | null;
  p95_slowdown: number | null;
  bins: {
    up_to_bytes: number | null;
    messages: number;
    p50_slowdown: number | null;
    p95_slowdown: number | null;
    p99_slowdown: number | null;
  }[];
  sketch: [number | null, number][];
  requests_per_s?: number;
  pages?: number;
  p50_page_s?: number | null;
  byte_index_s?: number | null;
  startup_s?: number | null;
  stalls?: number;
  stall_s?: number;
  mean_bitrate_bps?: number | null;
  chunk_log?: {
    asked_s: number;
    end_s: number;
    bitrate_bps: number;
    buffer_s: number;
    estimate_bps: number | null;
  }[];
  on_time?: number;
  late?: number;
  dropped?: number;
  cancelled?: number;
  freezes?: number;
  freeze_s?: number;
  encoder_bps?: number;
}
export interface LinkOutcome {
  name: string;
  delivered_packets: number;
  dropped_packets: Record<string, number>;
  queue_drops: number;
  drop_rate: number | null;
  marked_packets: number;
  utilisation: number;
  mean_queue_packets: number;
  mean_sojourn_s: number | null;
  [key: string]: unknown;
}
export interface Outcome {
  title: string;
  seed: number;
  duration_s: number;
  version: string;
  flows: FlowOutcome[];
  links: LinkOutcome[];
  radio: Record<string, unknown> | null;
  satellite: { handoffs: { terminal: string; time_s: number; from: string | null; to: string | null }[] } | null;
  fairness: { jain: number | null };
  engine: { events: number; packet_hops: number; cpu_s: number; wall_s: number };
}
export type PanelName =
  | 'use'
  | 'packets'
  | 'percentile'
  | 'cwnd'
  | 'ssthresh'
  | 'in_flight'
  | 'rtt'
  | 'delay'
  | 'queue'
  | 'goodput'
  | 'internal'
  | 'drops';
/** `channel`: the number of the Wi-Fi channel, or of the downlink or uplink of a cell, that a link shares. */
export interface SeriesInfo {
  panel: PanelName;
  flow: number | null;
  link: number | null;
  channel?: number;
  name: string;
  unit: string;
  start: number;
  points: number;
}
export interface Curves {
  series: SeriesInfo[];
  data: Float64Array;
}
/** Rows of `FLIGHT.width` numbers; `arrive` is NaN for a packet that does not arrive. */
export interface Flights {
  rows: number;
  left_out: number;
  data: Float64Array;
}
export const FLIGHT = { link: 0, start: 1, depart: 2, arrive: 3, flow: 4, kind: 5, seq: 6, fate: 7, width: 8 } as const;
export interface WhyStep {
  time_s: number;
  link: string;
  event: string;
  reason: string | null;
  waited_s: number | null;
  transmission?: { words: string } | null;
}
export interface WhyRule {
  kind: string;
  link: string;
  time_s: number;
  values: Record<string, number>;
  words: string;
}
export interface Why {
  flow: string;
  control: string;
  time_s: number;
  event: string;
  phase: string;
  cwnd: [number, number];
  ssthresh: [number | null, number | null];
  rtt_s: number | null;
  in_flight: number;
  acked: number;
  cause: string;
  packet: number | null;
  packet_events: WhyStep[];
  queue: { link: string; time_s: number; packets: Record<string, number> } | null;
  /** The rule that dropped or marked the packet. */
  rule?: WhyRule | null;
  /** The action of a change that takes the drop or the mark back. */
  prevention?: { at_s: number; action: 'keep_next' | 'unmark_next'; link: string; packet: number } | null;
  /** What limits the flow since, if its window does not change. */
  limit?: { kind: string; unchanged_s: number; words: string } | null;
}
export interface Catalog {
  version: string;
  engine: string;
  lists: Record<string, { name: string; [key: string]: unknown }[]>;
  codes: Record<string, unknown>;
  schema: Record<string, unknown>;
}
export interface Satellites {
  handoffs: { terminal: string; time_s: number; from: string | null; to: string | null }[];
}
/** Latitude, longitude (degrees) and altitude (km) of every satellite and then of every terminal; links and path by number. */
export interface Places {
  satellites: string[];
  terminals: string[];
  links: [number, number][];
  path: number[];
  delay_s: number | null;
  footprint_deg: number;
  data: Float64Array;
}
/** Of `rows` transmissions start, node, receiver, step, flow and duration; then of `routes` routes time, node, destination and next hop; -1 for none. */
export interface Transmissions {
  rows: number;
  left_out: number;
  routes: number;
  steps: string[];
  data: Float64Array;
}
/** x and y of each node (m), time by time. */
export interface RadioPlaces {
  nodes: number;
  area_m: [number, number];
  range_m: number;
  times_s: number[];
  data: Float64Array;
}
export interface Ended {
  shape: Shape;
  recorded: Recorded;
  outcome: Outcome | null;
  fingerprint: string;
  ms: number;
  bytes: number;
  now_s: number;
  /** Why the run ended before its duration; null if it did not. */
  cut_short: string | null;
}
