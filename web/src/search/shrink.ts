/** Smaller networks of one network, as python/ackclock/search/shrink.py: a search takes the first that still fails. */
import { digits, simplest, sorted, type Axis, type Genome, type Space } from './space';

const MOST_HALVINGS = 3, LEAST_S = 4;
const withEvents = (genome: Genome, at: number, events: number[][]): Genome => ({ ...genome, events: genome.events.map((list, n) => (n === at ? sorted(events) : list)) });
const withValue = (genome: Genome, at: number, index: number): Genome => ({ ...genome, values: genome.values.map((i, n) => (n === at ? index : i)) });

function* fewEvents(space: Space, genome: Genome): Generator<Genome> {
  const every = genome.events.flatMap((list, at) => list.map((event) => [at, event] as const));
  if (every.length < 2) return;
  for (const part of [0, 0.5, 1]) for (const [at, event] of every) {
    const larger = event.map((i, k) => { const axis = space.perturbations[at]!.axes[k]!; return axis.key === 'start' || axis.key === 'packet' ? i : Math.round(i + part * (axis.values.length - 1 - i)); });
    const events = genome.events.map((_, n) => (n === at ? [larger] : []));
    if (space.perturbations.every((p, n) => events[n]!.length >= p.least)) yield { ...genome, events };
  }
}
function* dropEvents(space: Space, genome: Genome): Generator<Genome> {
  for (const [at, events] of genome.events.entries()) for (let size = events.length; size >= 1; size = Math.floor(size / 2)) for (let start = 0; start < events.length; start += size) {
    const rest = [...events.slice(0, start), ...events.slice(start + size)];
    if (rest.length >= space.perturbations[at]!.least) yield withEvents(genome, at, rest);
  }
}
function* defaults(space: Space, genome: Genome): Generator<Genome> {
  const { values } = simplest(space);
  yield { ...genome, values };
  for (const [at, index] of values.entries()) yield withValue(genome, at, index);
}
/** Every number of a network: its axis, its index, the index towards which it descends, and the network with another one. */
function* numbers(space: Space, genome: Genome): Generator<[Axis, number, number, (index: number) => Genome]> {
  for (const [at, events] of genome.events.entries()) for (const [n, event] of events.entries()) for (const [k, index] of event.entries()) {
    yield [space.perturbations[at]!.axes[k]!, index, 0, (i) => withEvents(genome, at, events.map((e, m) => (m === n ? e.map((x, j) => (j === k ? i : x)) : e)))];
  }
  for (const [at, index] of genome.values.entries()) yield [space.axes[at]!, index, space.axes[at]!.simplest, (i) => withValue(genome, at, i)];
}
function* descend(space: Space, genome: Genome): Generator<Genome> {
  for (const [axis, index, goal, change] of numbers(space, genome)) if (axis.ordered) for (let step = index - goal; step; step = Math.trunc(step / 2)) yield change(index - step);
}
function* fewerDigits(space: Space, genome: Genome): Generator<Genome> {
  for (const [axis, index, , change] of numbers(space, genome)) for (let fewer = 1; fewer < digits(axis, index); fewer++) {
    const near = axis.values.map((_, i) => i).filter((i) => digits(axis, i) <= fewer).sort((a, b) => Math.abs(a - index) - Math.abs(b - index) || a - b);
    for (const i of near.slice(0, 2)) yield change(i);
  }
}
function* halve(space: Space, genome: Genome): Generator<Genome> {
  if (genome.halvings < MOST_HALVINGS && (space.duration_s - space.start_s) / 2 ** (genome.halvings + 1) >= LEAST_S) yield { ...genome, halvings: genome.halvings + 1 };
}
export const STEPS = [fewEvents, dropEvents, defaults, descend, fewerDigits, halve];
