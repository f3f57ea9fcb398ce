/** The spaces of the page are those of `ackclock search`: the same networks, limits, order and children. */
import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { child } from '../../src/search/genetic';
import { Search, measure, type Run } from '../../src/search/search';
import { SPACES, decode, excess, order, overrides, rate, simplest, type Genome } from '../../src/search/space';
import { finish, lab, root } from './node';

const repository = join(root, '..'), python = process.env.ACKCLOCK_PYTHON ?? join(repository, '.venv/bin/python');
const SCRIPT = `
import json, random
from ackclock.search import Search
from ackclock.search.explore import Genetic, decode
from ackclock.search.table import tables
def plain(g): return {"values": g.values, "events": g.events, "halvings": g.halvings}
out = []
for table in tables():
    space = Search.load(table["name"]).space
    draw = random.Random(table["name"])
    points = [[draw.random() for _ in range(space.dimensions)] for _ in range(60)]
    genomes = [decode(space, p) for p in points]
    networks = [{"point": p, "genome": plain(g), "excess": space.excess(g), "overrides": list(map(str, space.overrides(g)))} for p, g in zip(points, genomes)]
    byte_order = sorted(range(len(genomes)), key=lambda i: space.order(genomes[i]))
    stream = [draw.random() for _ in range(20000)]
    rest = iter(stream)
    genetic = Genetic(space, lambda: next(rest))
    children = [plain(genetic.ask(genomes[:12])) for _ in range(40)]
    out.append({"table": table, "networks": networks, "order": byte_order, "stream": stream, "children": children})
print(json.dumps(out))
`;
interface Vectors { table: unknown; networks: { point: number[]; genome: Genome; excess: number; overrides: string[] }[]; order: number[]; stream: number[]; children: Genome[] }
const vectors = JSON.parse(execFileSync(python, ['-c', SCRIPT], { cwd: repository, maxBuffer: 1 << 28 }).toString()) as Vectors[];

it('has the spaces of the package', () => expect(vectors.map((v) => v.table)).toEqual(JSON.parse(JSON.stringify(SPACES))));
it.each(SPACES.map((space, i) => [space.name, i] as const))('%s: the same networks', (_, i) => {
  const space = SPACES[i]!, { networks, order: wanted, stream, children } = vectors[i]!;
  for (const one of networks) {
    const genome = decode(space, one.point);
    expect(genome).toEqual(one.genome);
    expect(overrides(space, genome)).toEqual(one.overrides);
    expect(excess(space, genome)).toBeCloseTo(one.excess, 2);
  }
  const genomes = networks.map((one) => one.genome), compare = (a: number[], b: number[]): number => { const k = a.findIndex((x, n) => x !== b[n]); return k < 0 ? 0 : a[k]! - (b[k] ?? -1); };
  expect(genomes.map((_, k) => k).sort((a, b) => compare(order(space, genomes[a]!), order(space, genomes[b]!)))).toEqual(wanted);
  let next = 0;
  for (const one of children) expect(child(space, genomes.slice(0, 12), () => stream[next++]!)).toEqual(one);
});
it('finds the low-rate attack on Reno and makes it small', async () => {
  const core = lab(), run: Run = async (requests) => requests.map((request) => finish(core, { ...request, rules: false }).outcome);
  const space = SPACES.find((s) => s.name === '@shrew')!;
  const search = new Search(space, { kind: 'reno' }, 1, run);
  const first = await search.explore(200, () => undefined);
  expect(first).not.toBeNull();
  const smallest = await search.shrink(first!, () => undefined);
  expect(smallest.value.objective).toBeLessThanOrEqual(0.35);
  expect(smallest.others.find((o) => o.name === 'bbr')!.value.fails).toBe(false);
  const { outcome } = finish(core, search.request(smallest.genome, { kind: 'reno' }, 1));
  expect(measure(space, smallest.genome, outcome)).toBe(smallest.value.objective);
  expect(rate(space, simplest(space), 'bottleneck')).toBe(1e7);
});
