/** Places of nodes: columns by distance from the sources, rows by the mean row of the neighbours. Pure and deterministic. */
export type Point = readonly [x: number, y: number];
/** Places from 0 to 1 in both directions. */
export function layout(links: readonly (readonly [string, string])[], flows: readonly (readonly [string, string])[]): Map<string, Point> {
  const nodes = [...new Set(links.flat())];
  const near = new Map<string, string[]>(nodes.map((n) => [n, []]));
  for (const [a, b] of links) { near.get(a)!.push(b); near.get(b)!.push(a); }
  const depth = depths(nodes, near, flows.map(([from]) => from).filter((n) => near.has(n)), new Set(flows.map(([, to]) => to)));
  const most = Math.max(0, ...depth.values());
  const columns: string[][] = Array.from({ length: most + 1 }, () => []);
  for (const n of nodes) columns[depth.get(n)!]!.push(n);
  const row = new Map<string, number>();
  for (const column of columns) column.forEach((n, i) => row.set(n, (i + 0.5) / column.length));
  for (let pass = 0; pass < 6; pass++) {
    for (const column of pass % 2 ? columns.toReversed() : columns) {
      const mean = new Map(column.map((n) => { const around = near.get(n)!; return [n, around.reduce((sum, m) => sum + row.get(m)!, 0) / (around.length || 1)] as const; }));
      column.sort((a, b) => mean.get(a)! - mean.get(b)! || nodes.indexOf(a) - nodes.indexOf(b));
      column.forEach((n, i) => row.set(n, (i + 0.5) / column.length));
    }
  }
  return new Map(nodes.map((n) => [n, [most ? depth.get(n)! / most : 0.5, row.get(n)!] as const]));
}
/** Hops from the sources; a node that also receives from a later one keeps the side of its flows. */
function depths(nodes: string[], near: Map<string, string[]>, sources: string[], sinks: Set<string>): Map<string, number> {
  const starts = sources.filter((s) => !sinks.has(s));
  const depth = new Map<string, number>();
  const walk = (from: string[]): void => {
    let front = from.filter((n) => !depth.has(n));
    front.forEach((n) => depth.set(n, 0));
    for (let d = 1; front.length; d++) {
      front = [...new Set(front.flatMap((n) => near.get(n)!))].filter((n) => !depth.has(n));
      front.forEach((n) => depth.set(n, d));
    }
  };
  walk(starts.length ? starts : sources.slice(0, 1));
  for (const n of nodes) if (!depth.has(n)) walk([n]);
  return depth;
}
