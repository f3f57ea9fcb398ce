import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, settings } from '../../src/lessons/lesson';
import { like, parseMeasure, value } from '../../src/lessons/measure';
import { example, finish, lab, root } from './node';

const folder = join(root, 'lessons');
const FINE = 20_000;
describe.each(readdirSync(folder).sort())('%s', (name) => {
  const lesson = parse(name, readFileSync(join(folder, name), 'utf8'));
  it('has the numbers that its text writes', () => {
    const known = new Map<string, number>(), found: string[] = [], written: string[] = [];
    for (const [run, { set }] of lesson.runs) {
      const core = lab();
      core.files(example);
      const { outcome } = finish(core, { text: lesson.scenario, set });
      const curves = core.curves(0, outcome.duration_s, FINE);
      for (const m of lesson.measures.filter((one) => one.run === run)) {
        const v = value(m.what, { outcome, curves }, known);
        known.set(m.name, v);
        found.push(`${m.name} ${like(m.written, v)}`);
        written.push(`${m.name} ${m.written}`);
      }
    }
    expect(found).toEqual(written);
    expect(found.length).toBeGreaterThan(2);
  });
  it('uses each measure in its text or in another measure', () => {
    const text = JSON.stringify(lesson.blocks.flatMap((b) => b.pieces)) + lesson.measures.map((m) => m.what).join(' ');
    for (const m of lesson.measures) expect(text).toMatch(new RegExp(`\\b${m.name}\\b`));
  });
  it('has knobs whose ends can be run', () => {
    for (const knob of lesson.knobs) for (const v of 'options' in knob ? knob.options.map((_, i) => i) : [knob.least, knob.most, knob.initial]) { const core = lab(); core.files(example); core.check({ file: 'scenario.toml', text: lesson.scenario, set: settings(knob, v) }); }
  });
});
describe('measures', () => {
  it('compute formulas', () => { expect(value('(a + 2) * b / 4', {} as never, new Map([['a', 2], ['b', 3]]))).toBe(3); });
  it.each(['x', '1 = 2', 'a = b'])('refuse %s', (line) => { expect(() => parseMeasure(line)).toThrow(); });
  it('refuse names that are none', () => { expect(() => value('a + c', {} as never, new Map([['a', 2]]))).toThrow('c'); });
});
