/** The genetic search of python/ackclock/search/explore.py: the same children from the same random numbers. */
import { decode, dimensions, sorted, type Axis, type Genome, type Perturbation, type Space } from './space';

/** Numbers from 0 to 1. */
export type Uniform = () => number;
const SIGMA = 0.15, GENES = 0.15, LIST = 0.1;

/** Random numbers from a seed (sfc32). */
export function uniform(seed: number): Uniform {
  let a = seed | 0, b = 0x9e3779b9, c = 0x243f6a88, d = 1;
  const next = (): number => {
    const t = (a + b + d) | 0;
    d = (d + 1) | 0; a = b ^ (b >>> 9); b = (c + (c << 3)) | 0; c = ((c << 21) | (c >>> 11)) + t | 0;
    return (t >>> 0) / 2 ** 32;
  };
  for (let i = 0; i < 16; i++) next();
  return next;
}

/** A child of two of the best networks, the worst one for the controller first; a random network while there are fewer than two. */
export function child(space: Space, best: readonly Genome[], u: Uniform): Genome {
  if (best.length < 2) return decode(space, Array.from({ length: dimensions(space) }, u));
  const below = (count: number): number => Math.floor(u() * count);
  const parent = (): Genome => best[Math.min(below(best.length), below(best.length), below(best.length))]!;
  const gene = (index: number, axis: Axis, rate: number): number => {
    if (u() >= rate) return index;
    const count = axis.values.length;
    if (!axis.ordered) return below(count);
    const normal = Math.sqrt(-2 * Math.log(1 - u())) * Math.cos(2 * Math.PI * u());
    const step = Math.floor(normal * SIGMA * count + 0.5);
    return Math.min(count - 1, Math.max(0, index + (step || (u() < 0.5 ? 1 : -1))));
  };
  const changed = (events: number[][], p: Perturbation): number[][] => {
    const random = (): number[] => p.axes.map((axis) => below(axis.values.length));
    if (u() < LIST) events.push(random());
    if (events.length && u() < LIST) events.splice(below(events.length), 1);
    if (events.length && u() < LIST) events.push([...events[below(events.length)]!]);
    while (events.length > p.count) events.splice(below(events.length), 1);
    while (events.length < p.least) events.push(random());
    return events;
  };
  const a = parent(), b = parent();
  const values = a.values.map((x, i) => (u() < 0.5 ? x : b.values[i]!));
  const lists = space.perturbations.map((p, n) => {
    const x = a.events[n]!, y = b.events[n]!, [low, high] = [below(p.count + 1), below(p.count + 1)].sort((i, j) => i - j) as [number, number];
    return changed([...x.slice(0, low), ...y.slice(low, high), ...x.slice(high)], p);
  });
  const rate = Math.max(GENES, 1 / Math.max(1, values.length + lists.flat(2).length));
  return {
    values: values.map((i, k) => gene(i, space.axes[k]!, rate)),
    events: lists.map((list, n) => sorted(list.map((e) => e.map((i, k) => gene(i, space.perturbations[n]!.axes[k]!, rate))))),
    halvings: 0,
  };
}
