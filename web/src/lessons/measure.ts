/** Figures of a run that a lesson names: what they are, in a small language, and how they are found. Pure. */
import type { Curves, Outcome } from '../core/types';

export interface Measure {
  name: string;
  run: string;
  what: string;
  written: string;
}
export interface Measured {
  outcome: Outcome;
  curves: Curves;
}

/** `name [@run] = what -> written`. Raises Error with the line. */
export function parseMeasure(line: string): Measure {
  const m = /^(\w+)(?:\s*@(\w+))?\s*=\s*(.+?)\s*->\s*(\S+)$/.exec(line.trim());
  if (!m) throw new Error(`not a measure: ${line}`);
  return { name: m[1]!, run: m[2] ?? '', what: m[3]!, written: m[4]! };
}

/** The value of a measure: `outcome flows.f.goodput_bps * 1e-6`, `max cwnd f 0 3`, `falls f 10 60`, `total timeouts`, or a formula of other measures. */
export function value(what: string, of: Measured, known: ReadonlyMap<string, number>): number {
  const [, body, factor] = /^(.*?)(?:\s*\*\s*([\d.e+-]+))?$/.exec(what)!;
  const words = body!.trim().split(/\s+/),
    scale = factor === undefined ? 1 : Number(factor);
  if (words[0] === 'outcome') return scale * outcome(of.outcome, words[1]!);
  if (words[0] === 'total' || words[0] === 'greatest') return scale * over(of.outcome, words);
  if (/^(max|min|mean|last|falls|when_max)$/.test(words[0]!) && words.length >= 3)
    return scale * curve(of.curves, words);
  return formula(what, known);
}

function outcome(from: Outcome, path: string): number {
  const [list, name, ...rest] = path.split('/');
  const item =
    list === 'flows'
      ? from.flows.find((f) => f.name === name)
      : list === 'links'
        ? from.links.find((l) => l.name === name)
        : undefined;
  const keys = item ? rest : path.split('/');
  const found = keys.reduce<unknown>((at, key) => (at as Record<string, unknown> | undefined)?.[key], item ?? from);
  if (typeof found !== 'number') throw new Error(`the outcome has no number ${path}`);
  return found;
}

/** Over all flows: their total, or the greatest of them. */
function over(from: Outcome, [how, key]: string[]): number {
  const values = from.flows.map((f) => f[key!]).filter((v): v is number => typeof v === 'number');
  if (values.length < from.flows.length) throw new Error(`not every flow has a number ${key}`);
  return how === 'total' ? values.reduce((a, b) => a + b, 0) : Math.max(...values);
}
function curve(curves: Curves, words: string[]): number {
  const [kind, panel, name, from = '0', to = 'Infinity'] =
    words[0] === 'falls' ? ['falls', 'cwnd', ...words.slice(1)] : words;
  const info = curves.series.find((s) => s.panel === panel && s.name === name);
  if (!info) throw new Error(`there is no curve ${panel} of ${name}`);
  const x = curves.data.subarray(info.start, info.start + info.points),
    y = curves.data.subarray(info.start + info.points, info.start + 2 * info.points);
  const a = Number(from),
    b = Number(to);
  let most = -Infinity,
    least = Infinity,
    last = NaN,
    falls = 0,
    area = 0,
    span = 0,
    when = NaN;
  for (let i = 0; i < x.length; i++) {
    if (Number.isNaN(y[i]!)) continue; // the curve has no value until its next point
    const end = Math.min(b, x[i + 1] ?? x[i]!),
      begin = Math.max(a, x[i]!);
    if (end > begin) {
      area += y[i]! * (end - begin);
      span += end - begin;
    }
    if (x[i]! < a || x[i]! > b) continue;
    if (y[i]! > most) {
      most = y[i]!;
      when = x[i]!;
    }
    least = Math.min(least, y[i]!);
    last = y[i]!;
    if (i && y[i]! < y[i - 1]! * 0.95) falls++;
  }
  return { max: most, min: least, last, falls, mean: area / span, when_max: when }[kind as 'max'];
}

/** + - * / and brackets over numbers and names. */
function formula(text: string, known: ReadonlyMap<string, number>): number {
  const tokens = text.match(/[\w.]+|[-+*/()]/g) ?? [];
  let at = 0;
  const factor = (): number => {
    const token = tokens[at++];
    if (token === '(') {
      const v = sum();
      at++;
      return v;
    }
    if (token === 'sqrt') {
      at++;
      const v = sum();
      at++;
      return Math.sqrt(v);
    }
    const v = known.get(token ?? '') ?? Number(token);
    if (token === undefined || Number.isNaN(v))
      throw new Error(`${text}: ${token ?? 'the end'} is neither a number nor a measure`);
    return v;
  };
  const product = (): number => {
    let v = factor();
    while (tokens[at] === '*' || tokens[at] === '/') v = tokens[at++] === '*' ? v * factor() : v / factor();
    return v;
  };
  const sum = (): number => {
    let v = product();
    while (tokens[at] === '+' || tokens[at] === '-') v = tokens[at++] === '+' ? v + product() : v - product();
    return v;
  };
  const v = sum();
  if (at < tokens.length) throw new Error(`${text}: ${tokens[at]} does not belong there`);
  return v;
}

/** A value with as many decimals as the lesson writes. */
export function like(written: string, v: number): string {
  const decimals = /\.(\d+)$/.exec(written)?.[1]!.length ?? 0;
  return v.toFixed(decimals);
}
