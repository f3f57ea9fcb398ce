/** A search in the page: explore a space, confirm a failure over all seeds, make it small. */
import { Failed } from '../core/lab';
import type { Outcome, PageClass, RunRequest } from '../core/types';
import { child, uniform } from './genetic';
import { STEPS } from './shrink';
import { decode, dimensions, excess, key, overrides, rate, simplest, smaller, type Genome, type Space } from './space';

const ROUND = 16, POPULATION = 40, TRIES = 200, MOST_SHRINK = 120, BATCH = 4;
/** How the networks are divided. */
const SHARES = { random: 0.4, genetic: 0.6 };
type Arm = keyof typeof SHARES;

/** The tested controller: a registered one, or the class of the page. */
export type Control = { kind: string } | { page: PageClass };
/** The objective of a network, and the metric of each role; `fitness` is smaller the worse, and at most 0 for a failure. */
export interface Value { objective: number | null; fitness: number; fails: boolean; roles: (number | null)[]; error: string }
export interface Tried { number: number; genome: Genome; value: Value }
export interface Found { first: Tried; genome: Genome; value: Value; evaluations: number; others: { name: string; value: Value }[] }
export type Run = (requests: RunRequest[]) => Promise<(Outcome | Failed)[]>;

/** A metric of a run, in SI units. */
export function measure(space: Space, genome: Genome, outcome: Outcome): number | null {
  const goodput = outcome.flows.filter((f) => space.tested.includes(f.name)).map((f) => f.goodput_bps ?? 0), sum = goodput.reduce((a, b) => a + b, 0);
  switch (space.objective.metric) {
    case 'goodput': return sum;
    case 'starvation': return sum ? Math.min(...goodput) / Math.max(...goodput) : null;
    case 'residual': {
      const free = rate(space, genome, space.bottleneck) - outcome.flows.filter((f) => f.kind === 'udp').reduce((a, f) => a + (f.goodput_bps ?? 0), 0);
      return free > 0 ? sum / free : null;
    }
    default: return outcome.links.find((l) => l.name === space.link)?.utilisation ?? null;
  }
}
/** The value of a network from the metric of each role, the tested one first. */
export function judge({ objective }: Space, roles: (number | null)[], error = ''): Value {
  if (error) return { objective: null, fitness: -1e9, fails: true, roles, error };
  const [mine, other] = roles, { form, comparison, bound } = objective;
  const known = roles.every((v) => v !== null && Number.isFinite(v));
  const value = !known ? null : form === 'regret' ? other! - mine! : form === 'ratio' ? (other ? mine! / other : null) : mine!;
  if (value === null) return { objective: null, fitness: Infinity, fails: false, roles, error };
  return { objective: value, fitness: comparison === '<=' ? value - bound : bound - value, fails: comparison === '<=' ? value <= bound : value >= bound, roles, error };
}

export class Search {
  readonly tried: Tried[] = [];
  #best: Tried[] = [];
  #seen = new Set<string>();
  #runs: Record<Arm, number> = { random: 0, genetic: 0 };
  readonly #uniform;
  constructor(readonly space: Space, readonly control: Control, seed: number, private readonly run: Run) { this.#uniform = uniform(seed); }

  request(genome: Genome, control: Control, seed: number): RunRequest {
    const set = 'kind' in control ? this.space.tested.map((flow) => `flow.${flow}.tcp.congestion_control=${control.kind}`) : [];
    const controllers = 'page' in control ? { controllers: Object.fromEntries(this.space.tested.map((flow) => [flow, control.page])) } : {};
    return { file: this.space.name, text: this.space.text, set: [...overrides(this.space, genome), ...set], seed, trace: 'off', packets: false, fingerprint: false, ...controllers };
  }
  /** The values of networks over some seeds: of each network the one that is least of a failure. */
  async #values(genomes: Genome[], seeds: number[], control = this.control): Promise<Value[]> {
    const roles: Control[] = [control, ...this.space.objective.against.map((kind) => ({ kind }))];
    const results = await this.run(genomes.flatMap((g) => seeds.flatMap((seed) => roles.map((role) => this.request(g, role, seed)))));
    let next = 0;
    return genomes.map((genome) => {
      const each = seeds.map(() => {
        const [mine, ...others] = roles.map(() => results[next++]!);
        const metric = (r: Outcome | Failed): number | null => (r instanceof Failed ? null : measure(this.space, genome, r));
        return judge(this.space, [mine!, ...others].map(metric), mine instanceof Failed ? mine.message : '');
      });
      return each.reduce((worst, one) => (one.fitness > worst.fitness ? one : worst));
    });
  }
  /** The same over all seeds; the other seeds are run only for those that fail with the first one. */
  async #confirmed(genomes: Genome[]): Promise<Value[]> {
    const { seeds } = this.space, first = await this.#values(genomes, seeds.slice(0, 1));
    const failing = genomes.filter((_, i) => first[i]!.fails);
    if (seeds.length < 2 || !failing.length) return first;
    const all = await this.#values(failing, seeds);
    return first.map((value, i) => (value.fails ? all[failing.indexOf(genomes[i]!)]! : value));
  }
  #arm(): Arm {
    const arms = Object.keys(SHARES) as Arm[], total = this.#runs.random + this.#runs.genetic;
    const score = (arm: Arm): number => SHARES[arm] * (total + 1) - this.#runs[arm];
    return arms.reduce((a, b) => (score(b) > score(a) ? b : a));
  }
  /** The next networks that are new and keep the limits. */
  #propose(count: number): Genome[] {
    const round: Genome[] = [], take = (arm: Arm, genome: Genome): boolean => {
      if (this.#seen.has(key(genome)) || excess(this.space, genome) > 0) return false;
      this.#seen.add(key(genome));
      round.push(genome);
      this.#runs[arm]++;
      return true;
    };
    if (!this.tried.length) take('random', simplest(this.space));
    for (let failed = 0; round.length < count && failed < TRIES;) {
      const arm = this.#arm();
      const genome = arm === 'random' ? decode(this.space, Array.from({ length: dimensions(this.space) }, this.#uniform)) : child(this.space, this.#best.map((t) => t.genome), this.#uniform);
      failed = take(arm, genome) ? 0 : failed + 1;
    }
    return round;
  }
  /** Evaluate networks until one fails, at most so many. `told` is called after each round. */
  async explore(budget: number, told: (tried: Tried[]) => void): Promise<Tried | null> {
    while (this.tried.length < budget) {
      const round = this.#propose(Math.min(ROUND, budget - this.tried.length));
      if (!round.length) return null;
      const values = await this.#confirmed(round);
      for (const [i, genome] of round.entries()) this.tried.push({ number: this.tried.length + 1, genome, value: values[i]! });
      told(this.tried);
      this.#best = [...this.tried].filter((t) => Number.isFinite(t.value.fitness)).sort((a, b) => a.value.fitness - b.value.fitness || a.number - b.number).slice(0, POPULATION);
      const first = this.tried.find((t) => t.value.fails);
      if (first) return first;
    }
    return null;
  }
  /** Make a failure small, and run the smallest network with other controllers. */
  async shrink(first: Tried, told: (evaluations: number) => void): Promise<Found> {
    let { genome, value } = first, evaluations = 0;
    const known = new Set<string>();
    const step = async (candidates: Generator<Genome>): Promise<boolean> => {
      for (let ended = false; !ended && evaluations < MOST_SHRINK;) {
        const batch: Genome[] = [];
        while (batch.length < BATCH && !ended) {
          const { value: one, done } = candidates.next();
          if (done) ended = true;
          else if (!known.has(key(one)) && smaller(this.space, one, genome) && excess(this.space, one) === 0) { known.add(key(one)); batch.push(one); }
        }
        if (!batch.length) return false;
        evaluations += batch.length;
        const values = await this.#confirmed(batch), at = values.findIndex((v) => v.fails && !!v.error === !!first.value.error);
        told(evaluations);
        if (at >= 0) { genome = batch[at]!; value = values[at]!; return true; }
      }
      return false;
    };
    for (let moved = true; moved && evaluations < MOST_SHRINK;) {
      moved = false;
      for (const candidates of STEPS) while (await step(candidates(this.space, genome))) moved = true;
    }
    const others = [];
    for (const name of ['reno', 'cubic', 'bbr']) if (!('kind' in this.control) || this.control.kind !== name) others.push({ name, value: (await this.#values([genome], this.space.seeds, { kind: name }))[0]! });
    return { first, genome, value, evaluations, others };
  }
}
