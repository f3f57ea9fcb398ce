/** Statistics of paired runs, as python/ackclock/stats.py has them: Student's t, 95 %. Shown, never part of a result. */
export interface Estimate {
  value: number;
  low: number | null;
  high: number | null;
  n: number;
}

/** ln Gamma (Lanczos). */
function lnGamma(x: number): number {
  const c = [
    76.18009172947146, -86.50532032941677, 24.01409824083091, -1.231739572450155, 0.1208650973866179e-2,
    -0.5395239384953e-5,
  ];
  let sum = 1.000000000190015,
    y = x;
  for (const v of c) sum += v / ++y;
  return Math.log((2.5066282746310005 * sum) / x) + (x + 0.5) * Math.log(x + 5.5) - (x + 5.5);
}
/** The regularised incomplete beta function, by its continued fraction. */
function beta(a: number, b: number, x: number): number {
  if (x <= 0 || x >= 1) return x <= 0 ? 0 : 1;
  const front = Math.exp(lnGamma(a + b) - lnGamma(a) - lnGamma(b) + a * Math.log(x) + b * Math.log(1 - x));
  if (x > (a + 1) / (a + b + 2)) return 1 - beta(b, a, 1 - x);
  let c = 1,
    d = 1 / (1 - ((a + b) * x) / (a + 1) || 1e-300),
    h = d;
  for (let m = 1; m <= 300; m++) {
    let t = (m * (b - m) * x) / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1 / (1 + t * d || 1e-300);
    c = 1 + t / c || 1e-300;
    h *= d * c;
    t = (-(a + m) * (a + b + m) * x) / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1 / (1 + t * d || 1e-300);
    c = 1 + t / c || 1e-300;
    const step = d * c;
    h *= step;
    if (Math.abs(step - 1) < 1e-15) break;
  }
  return (front * h) / a;
}
/** Two-sided p of a t value. */
export const tProbability = (t: number, df: number): number => beta(df / 2, 0.5, df / (df + t * t));
/** The t value that `level` of the distribution lies within, on both sides. */
export function tQuantile(level: number, df: number): number {
  let low = 0,
    high = 1e4;
  for (let i = 0; i < 200; i++) {
    const mid = (low + high) / 2;
    if (1 - tProbability(mid, df) < level) low = mid;
    else high = mid;
  }
  return (low + high) / 2;
}
const average = (values: readonly number[]): number => values.reduce((a, b) => a + b, 0) / values.length;
function deviation(values: readonly number[]): number {
  const m = average(values);
  return Math.sqrt(values.reduce((s, v) => s + (v - m) ** 2, 0) / (values.length - 1));
}
export function mean(values: readonly number[], level = 0.95): Estimate {
  const n = values.length;
  if (n < 2) return { value: n ? values[0]! : NaN, low: null, high: null, n };
  const centre = average(values),
    half = (tQuantile(level, n - 1) * deviation(values)) / Math.sqrt(n);
  return { value: centre, low: centre - half, high: centre + half, n };
}
/** Two-sided paired t test against 0; null for fewer than two values, 0 or 1 where all are equal. */
export function pValue(differences: readonly number[]): number | null {
  const n = differences.length;
  if (n < 2) return null;
  if (Math.min(...differences) === Math.max(...differences)) return differences[0] === 0 ? 1 : 0;
  return tProbability((average(differences) / deviation(differences)) * Math.sqrt(n), n - 1);
}
/** Benjamini and Hochberg's correction. */
export function falseDiscovery(p: readonly number[]): number[] {
  const order = p.map((_, i) => i).sort((a, b) => p[b]! - p[a]!),
    out = new Array<number>(p.length);
  let least = 1;
  order.forEach((i, k) => {
    least = Math.min(least, (p[i]! * p.length) / (p.length - k));
    out[i] = least;
  });
  return out;
}
export type Verdict = 'worse' | 'better' | 'other' | 'same';
export interface Change {
  flow: string;
  metric: string;
  unit: string;
  a: number;
  b: number;
  difference: Estimate;
  p: number | null;
  verdict: Verdict;
  deterministic: boolean;
}
export interface Metric {
  key: string;
  name: string;
  unit: string;
  factor: number;
  better: 1 | -1 | 0;
}
export const METRICS: readonly Metric[] = [
  { key: 'goodput_bps', name: 'goodput', unit: 'Mb/s', factor: 1e-6, better: 1 },
  { key: 'mean_rtt_s', name: 'mean RTT', unit: 'ms', factor: 1e3, better: -1 },
  { key: 'retransmitted_packets', name: 'retransmitted packets', unit: '', factor: 1, better: -1 },
  { key: 'timeouts', name: 'timeouts', unit: '', factor: 1, better: -1 },
  { key: 'mean_cwnd', name: 'mean cwnd', unit: 'segments', factor: 1, better: 0 },
  { key: 'completion_s', name: 'completion', unit: 's', factor: 1, better: -1 },
];
export interface Pair {
  flow: string;
  metric: Metric;
  a: number[];
  b: number[];
}
/** Verdicts as `ackclock compare` gives them: significant after correction, and larger than the tolerance. */
export function changes(pairs: readonly Pair[], tolerance = 0.01, level = 0.05): Change[] {
  const differences = pairs.map((p) => p.a.map((v, i) => p.b[i]! - v));
  const raw = differences.map(pValue);
  const corrected = falseDiscovery(raw.filter((p): p is number => p !== null));
  let next = 0;
  return pairs.map(({ flow, metric, a, b }, i) => {
    const p = raw[i] === null ? null : corrected[next++]!;
    const ma = average(a),
      mb = average(b),
      large = Math.abs(mb - ma) > tolerance * Math.max(Math.abs(ma), Math.abs(mb));
    let verdict: Verdict = 'same';
    if (p !== null && p < level && large) {
      const gain = metric.better * (mb - ma);
      verdict = gain > 0 ? 'better' : gain < 0 ? 'worse' : 'other';
    }
    const deterministic = a.length > 1 && [a, b].every((v) => Math.min(...v) === Math.max(...v));
    return {
      flow,
      metric: metric.name,
      unit: metric.unit,
      a: ma,
      b: mb,
      difference: mean(differences[i]!),
      p,
      verdict,
      deterministic,
    };
  });
}
