/** Thins a curve whose points come in the order of time: of each pixel column the first, least, greatest and last point. */
export interface Range {
  from: number;
  to: number;
  columns: number;
}
type Point = readonly [at: number, value: number];

export class Decimator {
  #column = 0;
  #bucket: [Point, Point, Point, Point] | null = null;
  #before: number | null = null;
  readonly #points: Point[] = [];
  /** `steps`: a value holds until the next point, so that the one before the interval counts; NaN or infinity ends it. */
  constructor(
    private readonly range: Range,
    private readonly steps: boolean,
  ) {}

  columnOf(at: number): number {
    const { from, to, columns } = this.range;
    return Math.min(columns - 1, Math.floor(((at - from) / (to - from)) * columns));
  }
  push(at: number, value: number): void {
    if (at > this.range.to) return;
    if (!Number.isFinite(value)) {
      if (this.steps) this.#end(at);
      return;
    }
    if (at < this.range.from) {
      this.#before = value;
      return;
    }
    this.#begin();
    const c = this.columnOf(at),
      p: Point = [at, value],
      bucket = this.#bucket;
    if (bucket && this.#column === c) {
      if (value < bucket[1][1]) bucket[1] = p;
      if (value > bucket[2][1]) bucket[2] = p;
      bucket[3] = p;
    } else {
      this.#flush();
      this.#column = c;
      this.#bucket = [p, p, p, p];
    }
  }
  /** The value that holds at the start of the interval becomes the first point. */
  #begin(): void {
    if (this.#before !== null && this.steps) this.#points.push([this.range.from, this.#before]);
    this.#before = null;
  }
  /** Ends the value that is held: one point with NaN, a gap of the curve, and nothing until the next value. */
  #end(at: number): void {
    if (at < this.range.from) {
      this.#before = null;
      return;
    }
    this.#begin();
    this.#flush();
    const last = this.#points.at(-1);
    if (last && !Number.isNaN(last[1])) this.#points.push([at, NaN]);
  }
  #flush(): void {
    if (!this.#bucket) return;
    const [first, low, high, last] = this.#bucket;
    this.#bucket = null;
    for (const p of low[0] > high[0] ? [first, high, low, last] : [first, low, high, last]) {
      const before = this.#points.at(-1);
      if (!before || before[0] !== p[0] || before[1] !== p[1]) this.#points.push(p);
    }
  }
  finish(): readonly [number, number][] {
    this.#flush();
    const points = this.#points as [number, number][];
    if (!this.steps) return points;
    if (this.#before !== null) points.push([this.range.from, this.#before]); // no change within the interval
    const last = points.at(-1);
    if (last && last[0] < this.range.to && !Number.isNaN(last[1])) points.push([this.range.to, last[1]]);
    return points;
  }
}
