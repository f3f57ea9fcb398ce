/** A lesson: Markdown with a scenario, other runs, knobs and measures in fenced blocks. Pure. */
import { type Measure, parseMeasure } from './measure';

export interface Slider {
  key: string;
  label: string;
  least: number;
  most: number;
  step: number;
  unit: string;
  initial: number;
}
/** One of several settings; its value is the number of the option. The first one is that of the scenario. */
export interface Choice {
  label: string;
  options: { text: string; set: string[] }[];
  initial: number;
}
export type Knob = Slider | Choice;
/** A piece of a line. */
export type Piece = { kind: 'text' | 'bold' | 'code' | 'measure'; text: string };
export type Block = { kind: 'p' | 'h' | 'li' | 'question' | 'answer' | 'program'; pieces: Piece[] };
export interface Lesson {
  id: string;
  title: string;
  blocks: Block[];
  scenario: string;
  /** Names of other runs with their changes; '' is the scenario itself. A run without a label only gives numbers of the text. */
  runs: Map<string, { label: string; set: string[] }>;
  knobs: Knob[];
  measures: Measure[];
  /** Beginnings of the names of the panels that stand before the others. */
  first: string[];
}

function pieces(line: string): Piece[] {
  return [...line.matchAll(/\*\*(.+?)\*\*|`(.+?)`|\{(\w+)\}|([^*`{]+|[*`{])/g)].map((m): Piece =>
    m[1] !== undefined
      ? { kind: 'bold', text: m[1] }
      : m[2] !== undefined
        ? { kind: 'code', text: m[2] }
        : m[3] !== undefined
          ? { kind: 'measure', text: m[3] }
          : { kind: 'text', text: m[4]! },
  );
}
const rows = (text: string): string[] =>
  text
    .split('\n')
    .map((l) => l.trim())
    .filter(Boolean);

/** Raises Error if a block is damaged. */
export function parse(id: string, source: string): Lesson {
  const fences = new Map<string, string>();
  const prose = source.replace(/^```(\w+)\n([\s\S]*?)^```$/gm, (_all, kind: string, body: string) => {
    if (kind === 'c') return `\n\n\`\`\`${body}\n\n`; // shown; it has no empty line
    fences.set(kind, body);
    return '';
  });
  const title = /^# (.+)$/m.exec(prose)?.[1];
  const scenario = fences.get('scenario');
  if (!title || !scenario) throw new Error(`${id}: a lesson needs a title and a scenario`);
  const blocks: Block[] = [];
  for (const part of prose
    .replace(/^# .+$/m, '')
    .split(/\n\s*\n/)
    .map((p) => p.trim())
    .filter(Boolean)) {
    if (part.startsWith('```')) blocks.push({ kind: 'program', pieces: [{ kind: 'text', text: part.slice(3) }] });
    else if (part.startsWith('## ')) blocks.push({ kind: 'h', pieces: pieces(part.slice(3)) });
    else if (part.startsWith('- '))
      for (const item of part.split(/\n- /))
        blocks.push({ kind: 'li', pieces: pieces(item.replace(/^- /, '').replace(/\n/g, ' ')) });
    else if (part.startsWith('> Answer: '))
      blocks.push({ kind: 'answer', pieces: pieces(part.slice('> Answer: '.length).replace(/\n> ?/g, ' ')) });
    else if (part.startsWith('> '))
      blocks.push({ kind: 'question', pieces: pieces(part.replace(/^> ?/gm, '').replace(/\n/g, ' ')) });
    else blocks.push({ kind: 'p', pieces: pieces(part.replace(/\n/g, ' ')) });
  }
  const runs: Lesson['runs'] = new Map([['', { label: 'As described', set: [] }]]);
  for (const row of rows(fences.get('runs') ?? '')) {
    const [name, label, ...set] = row.split('|').map((w) => w.trim());
    runs.set(name!, { label: label!, set });
  }
  const knobs = rows(fences.get('knobs') ?? '').map((row): Knob => {
    if (row.startsWith('choice |')) {
      const [, label, ...options] = row.split('|').map((w) => w.trim());
      return {
        label: label!,
        initial: 0,
        options: options.map((option) => {
          const [text, set = ''] = option.split('->').map((w) => w.trim());
          return {
            text: text!,
            set: set
              .split(';')
              .map((w) => w.trim())
              .filter(Boolean),
          };
        }),
      };
    }
    const [key, label, least, most, step, unit, initial] = row.split('|').map((w) => w.trim());
    return {
      key: key!,
      label: label!,
      least: Number(least),
      most: Number(most),
      step: Number(step),
      unit: unit!,
      initial: Number(initial),
    };
  });
  const measures = rows(fences.get('measures') ?? '').map(parseMeasure);
  const names = new Set(measures.map((m) => m.name));
  for (const b of blocks)
    for (const p of b.pieces)
      if (p.kind === 'measure' && !names.has(p.text))
        throw new Error(`${id}: the text names {${p.text}}, which is no measure`);
  const first = (fences.get('panels') ?? '').split(/\s+/).filter(Boolean);
  return { id, title, blocks, scenario, runs, knobs, measures, first };
}
/** A knob's settings: text with a unit is quoted. */
export const settings = (knob: Knob, v: number): string[] =>
  'options' in knob
    ? knob.options[v]!.set
    : [`${knob.key}=${knob.unit === '' ? v : `"${Number(v.toFixed(6))}${knob.unit}"`}`];
