/** A space of networks, as python/ackclock/search/space.py and perturbation.py: genomes, what they may be, and the assignments that make them. */
import tables from './spaces.json';

export interface Axis { key: string; values: (string | number)[]; simplest: number; ordered: boolean }
export type Kind = 'cross' | 'square' | 'drops' | 'delays';
export interface Perturbation { name: string; kind: Kind; at: string; flow: string; least: number; count: number; axes: Axis[] }
export interface Objective { text: string; form: 'plain' | 'regret' | 'ratio'; metric: 'utilisation' | 'goodput' | 'residual' | 'starvation'; against: string[]; comparison: '<=' | '>='; bound: number }
interface Link { rate_bps: number; delay_s: number; impairments: [unknown[], unknown[]] }
export interface Space {
  name: string; question: string; text: string; axes: Axis[]; perturbations: Perturbation[]; limits: { cross: number | null; no_loss_before: number; queue: number };
  tested: string[]; bottleneck: string; link: string; start_s: number; duration_s: number; links: Record<string, Link>; paths: string[][]; queue_limit: string | null; control: string; seeds: number[]; objective: Objective;
}
export const SPACES = tables as unknown as Space[];

/** Indices of values, and for each perturbation its events: indices of their numbers, in order. `halvings`: of the measured time. */
export interface Genome { values: number[]; events: number[][][]; halvings: number }
export const key = (genome: Genome): string => JSON.stringify([genome.values, genome.events, genome.halvings]);

const UNITS: Record<string, number> = { ns: 1e-9, us: 1e-6, ms: 1e-3, s: 1, bps: 1, kbps: 1e3, Mbps: 1e6, Gbps: 1e9, B: 1, kB: 1e3, MB: 1e6, GB: 1e9, p: 1, bdp: 1, '': 1 };
const PACKET_BITS = 12000;
const split = (value: string | number): [string, string] => { const [, number, unit] = /^(-?[\d.]+(?:e-?\d+)?)([A-Za-z]*)$/.exec(String(value)) ?? []; return [number ?? '', unit ?? '']; };
/** The value of an axis as a number, in seconds, bits a second, bytes or packets; a choice as its index. */
export function number(axis: Axis, index: number): number {
  if (!axis.ordered) return index;
  const [digits, unit] = split(axis.values[index]!);
  return Number(digits) * UNITS[unit]!;
}
/** Significant digits of a value. */
export function digits(axis: Axis, index: number): number {
  if (!axis.ordered) return 1;
  return Math.max(1, Number(split(axis.values[index]!)[0]).toExponential().split('e')[0]!.replace(/[-.]/g, '').replace(/0+$/, '').length);
}
/** A quantity with the largest unit that needs no leading zero. */
function written(value: number, units: [string, number][]): string {
  const [name, factor] = units.findLast(([, f]) => Math.abs(value) >= f) ?? units[0]!;
  return `${Number((value / factor).toPrecision(15))}${name}`;
}
const bps = (rate: number): string => written(Math.round(rate), [['bps', 1], ['kbps', 1e3], ['Mbps', 1e6], ['Gbps', 1e9]]);
const time = (s: number): string => { const us = Math.round(s * 1e6); return us ? written(us, [['us', 1], ['ms', 1e3], ['s', 1e6]]) : '0s'; };
const clock = (s: number): string => (s % 1 ? `${Math.round(1000 * s)}ms` : `${Math.round(s)}s`);

const at = (p: Perturbation, name: string): number => p.axes.findIndex((a) => a.key === name);
const part = (p: Perturbation, event: number[], name: string): number => number(p.axes[at(p, name)]!, event[at(p, name)]!);
const word = (p: Perturbation, event: number[], name: string): string | number => p.axes[at(p, name)]!.values[event[at(p, name)]!]!;
const compare = (a: readonly number[], b: readonly number[]): number => { for (const [i, x] of a.entries()) if (x !== b[i]) return x - (b[i] ?? -1); return a.length - b.length; };
export const sorted = (events: number[][]): number[][] => [...events].sort(compare);

export const simplest = (space: Space): Genome => ({ values: space.axes.map((a) => a.simplest), events: space.perturbations.map((p) => Array.from({ length: p.least }, () => p.axes.map(() => 0))), halvings: 0 });
/** Numbers that describe any network: values, numbers of events and all events. */
export const dimensions = (space: Space): number => space.axes.length + space.perturbations.reduce((sum, p) => sum + 1 + p.count * p.axes.length, 0);
/** The network of a point of the unit cube. */
export function decode(space: Space, point: readonly number[]): Genome {
  let next = 0;
  const index = (count: number): number => Math.min(count - 1, Math.max(0, Math.floor(point[next++]! * count)));
  const values = space.axes.map((a) => index(a.values.length));
  const events = space.perturbations.map((p) => {
    const count = p.least + index(p.count - p.least + 1);
    return sorted(Array.from({ length: p.count }, () => p.axes.map((a) => index(a.values.length))).slice(0, count));
  });
  return { values, events, halvings: 0 };
}

const of = (space: Space, genome: Genome, key: string): number | undefined => { const i = space.axes.findIndex((a) => a.key.replaceAll('"', '') === key); return i < 0 ? undefined : number(space.axes[i]!, genome.values[i]!); };
export const rate = (space: Space, genome: Genome, link: string): number => of(space, genome, `link.${link}.rate`) ?? space.links[link]!.rate_bps;
const delay = (space: Space, genome: Genome, link: string): number => of(space, genome, `link.${link}.delay`) ?? space.links[link]!.delay_s;
/** Begin and end of the measurement, seconds. */
export const measured = (space: Space, genome: Genome): [number, number] => [space.start_s, space.start_s + (space.duration_s - space.start_s) / 2 ** genome.halvings];
const meanRate = (p: Perturbation, events: number[][], end: number): number => events.reduce((sum, e) => sum + part(p, e, 'peak') * (p.kind === 'cross' ? part(p, e, 'length') / end : part(p, e, 'burst') / part(p, e, 'period')), 0);
const udp = (p: Perturbation): boolean => p.kind === 'cross' || p.kind === 'square';

/** The limit of the bottleneck's queue, packets; infinite if it is not one that this page knows. */
function queueLimit(space: Space, genome: Genome): number {
  const i = space.axes.findIndex((a) => a.key === `link.${space.bottleneck}.queue.limit`);
  const limit = /^([\d.]+)bdp$/.exec(String(i < 0 ? space.queue_limit : space.axes[i]!.values[genome.values[i]!]))?.[1];
  if (limit === undefined) return Infinity;
  const trips = space.paths.map((path) => 2 * path.reduce((sum, link) => sum + delay(space, genome, link), 0));
  return (Number(limit) * rate(space, genome, space.bottleneck) * Math.max(...trips)) / PACKET_BITS;
}
/** By how much a network exceeds the limits of the space; 0 if it keeps them. */
export function excess(space: Space, genome: Genome): number {
  let total = 0, mean = 0;
  const [, end] = measured(space, genome);
  for (const [n, p] of space.perturbations.entries()) {
    const events = genome.events[n]!;
    if (p.kind === 'square' && events.some((e) => part(p, e, 'burst') >= part(p, e, 'period'))) total += 1;
    if (p.kind === 'drops' && events.some((e) => part(p, e, 'packet') < space.limits.no_loss_before)) total += 1;
    if (udp(p)) mean += meanRate(p, events, end);
  }
  if (space.limits.cross !== null) total += Math.max(0, mean / space.limits.cross - 1);
  if (space.limits.queue && !total) total += Math.max(0, space.limits.queue / queueLimit(space, genome) - 1);
  return total;
}

/** A value as TOML on one line. */
function toml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toml).join(', ')}]`;
  if (value !== null && typeof value === 'object') return `{ ${Object.entries(value).map(([k, v]) => `${k} = ${toml(v)}`).join(', ')} }`;
  return JSON.stringify(value);
}
function udpOverrides(p: Perturbation, events: number[][], peak: number): string[] {
  const rated = (e: number[]): string => bps(part(p, e, 'peak') * peak);
  if (p.kind === 'square') {
    const wave = { period: word(p, events[0]!, 'period'), burst: word(p, events[0]!, 'burst'), peak: rated(events[0]!) };
    return [`flow.${p.name}.start=${toml(word(p, events[0]!, 'start'))}`, `flow.${p.name}.udp=${toml(wave)}`];
  }
  const ordered = [...events].sort((a, b) => part(p, a, 'start') - part(p, b, 'start'));
  return [`flow.${p.name}.udp=${toml({ bursts: ordered.map((e) => [word(p, e, 'start'), word(p, e, 'length'), rated(e)]) })}`];
}
function impairment(p: Perturbation, events: number[][]): unknown {
  if (p.kind === 'drops') return { kind: 'scripted', flow: p.flow, packets: [...new Set(events.map((e) => Math.round(part(p, e, 'packet'))))].sort((a, b) => a - b) };
  const begin = (e: number[]): number => part(p, e, 'start'), end = (e: number[]): number => begin(e) + part(p, e, 'length');
  const steps: [string, string][] = [];
  for (const t of [...new Set([0, ...events.map(begin), ...events.map(end)])].sort((a, b) => a - b)) {
    const lasting = events.filter((e) => begin(e) <= t && t < end(e)).map((e) => part(p, e, 'by'));
    const value = lasting.length ? time(Math.max(...lasting)) : '0s';
    if (steps.at(-1)?.[1] !== value) steps.push([time(t), value]);
  }
  return { kind: 'delay', steps };
}
/** The assignments that make this network of the base scenario. */
export function overrides(space: Space, genome: Genome): string[] {
  const [start, end] = measured(space, genome), lists: string[] = [], sent: string[] = [], added = new Map<string, [unknown[], unknown[]]>();
  for (const [n, p] of space.perturbations.entries()) {
    const events = genome.events[n]!;
    if (!events.length) continue;
    if (udp(p)) { sent.push(...udpOverrides(p, events, rate(space, genome, p.at))); continue; }
    const [forward, back] = space.links[p.at]!.impairments;
    if (!added.has(p.at)) added.set(p.at, [[...forward], [...back]]);
    added.get(p.at)![0].push(impairment(p, events));
  }
  for (const [link, [forward, back]] of added) lists.push(`link.${link}.loss=${toml(forward)}`, `link.${link}.back.loss=${toml(back)}`);
  return [...lists, ...space.axes.map((a, i) => `${a.key}=${toml(a.values[genome.values[i]!])}`), ...sent, `warmup="${clock(start)}"`, `duration="${clock(end)}"`];
}
/** An event in words. */
export function words(p: Perturbation, e: number[]): string {
  if (p.kind === 'square') return `UDP at ${word(p, e, 'peak')} of the link's rate for ${word(p, e, 'burst')} of every ${word(p, e, 'period')}`;
  if (p.kind === 'drops') return `packet ${word(p, e, 'packet')} dropped`;
  return `${p.kind === 'cross' ? `UDP at ${word(p, e, 'peak')} of the link's rate` : `delay +${word(p, e, 'by')}`} for ${word(p, e, 'length')} at ${word(p, e, 'start')}`;
}

/** The order that shrinking descends: events, values that are not the simplest ones, digits, time, sizes. */
export function order(space: Space, genome: Genome): number[] {
  const changed = space.axes.map((a, i) => [a, genome.values[i]!] as const), events = genome.events.flatMap((list, n) => list.flatMap((e) => e.map((i, k) => [space.perturbations[n]!.axes[k]!, i] as const)));
  const away = changed.filter(([a, i]) => i !== a.simplest), sum = (list: number[]): number => list.reduce((s, x) => s + x, 0);
  return [
    genome.events.flat().length, away.length, sum([...away, ...events].map(([a, i]) => digits(a, i))), -genome.halvings,
    sum(changed.map(([a, i]) => Math.abs(i - a.simplest))) + sum(events.map(([, i]) => i)), ...genome.values, ...genome.events.flat(2),
  ];
}
export const smaller = (space: Space, a: Genome, b: Genome): boolean => compare(order(space, a), order(space, b)) < 0;
