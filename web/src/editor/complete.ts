/** What can stand at a place of a scenario: keys and values from the schema and the catalog. Pure. */
import type { Catalog } from '../core/types';

export type Schema = { [key: string]: unknown };
export interface Entry {
  label: string;
  detail: string;
  info: string;
  kind: 'key' | 'value';
}

const object = (value: unknown): Schema | null =>
  typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Schema) : null;
/** Follows $ref, and takes the item of an array. */
export function resolve(schema: unknown, root: Schema): Schema[] {
  const one = object(schema);
  if (!one) return [];
  if (typeof one.$ref === 'string')
    return resolve(
      one.$ref
        .split('/')
        .slice(1)
        .reduce<unknown>((at, key) => object(at)?.[key], root),
      root,
    );
  const many = [...((one.anyOf ?? one.oneOf ?? one.allOf ?? []) as unknown[])].flatMap((part) => resolve(part, root));
  const items = one.items ? resolve(one.items, root) : [];
  return [one, ...many, ...items];
}
/** The schemas of a table, by its path such as ["link", "queue"]. */
export function at(path: readonly string[], root: Schema): Schema[] {
  let here = resolve(root, root);
  for (const key of path)
    here = here.flatMap((schema) => {
      const found = object(schema.properties)?.[key] ?? object(schema.additionalProperties);
      return found ? resolve(found, root) : [];
    });
  return here;
}
const words = (schema: Schema): string => String(schema.description ?? '');
export function keys(path: readonly string[], root: Schema): Entry[] {
  const found = new Map<string, Entry>();
  for (const schema of at(path, root))
    for (const [label, value] of Object.entries(object(schema.properties) ?? {})) {
      if (found.has(label)) continue;
      const all = resolve(value, root),
        info = all.map(words).find(Boolean) ?? '';
      const given = all.find((s) => s.default !== undefined)?.default;
      found.set(label, {
        label,
        detail: given === undefined ? '' : `default ${JSON.stringify(given)}`,
        info,
        kind: 'key',
      });
    }
  return [...found.values()];
}
export function values(path: readonly string[], root: Schema, catalog: Catalog | null): Entry[] {
  const found = new Map<string, Entry>();
  const add = (label: string, info = ''): void => {
    if (!found.has(label)) found.set(label, { label, detail: '', info, kind: 'value' });
  };
  const key = path[path.length - 1] ?? '',
    table = path[path.length - 2] ?? '';
  const list =
    key === 'congestion_control' || key === 'control' || table === 'congestion_control'
      ? 'controllers'
      : key === 'recovery'
        ? 'recoveries'
        : key === 'kind' && table === 'queue'
          ? 'queues'
          : key === 'kind' && (table === 'loss' || table === 'impair')
            ? 'losses'
            : '';
  for (const item of catalog?.lists[list] ?? [])
    add(`"${item.name}"`, String(item.description ?? item.summary ?? item.about ?? ''));
  for (const schema of at(path, root)) {
    for (const value of (schema.enum ?? (schema.const === undefined ? [] : [schema.const])) as unknown[])
      add(JSON.stringify(value));
    if (schema.type === 'boolean') {
      add('true');
      add('false');
    }
    for (const example of (schema.examples ?? []) as unknown[]) add(JSON.stringify(example), 'an example');
  }
  return [...found.values()];
}
/** Table, and key where a value is expected, at an offset of a text. */
export function place(text: string, offset: number): { path: string[]; key: string | null; word: string } {
  const before = text.slice(0, offset),
    lines = before.split('\n'),
    line = lines[lines.length - 1]!;
  let table: string[] = [];
  for (const one of lines.slice(0, -1)) {
    const head = /^\s*\[\[?\s*([\w.-]+)\s*\]\]?/.exec(one);
    if (head) table = head[1]!.split('.');
  }
  // Inline tables that are open on this line.
  const path = [...table];
  let rest = line.replace(/"(?:[^"\\]|\\.)*"/g, (s) => `"${'x'.repeat(s.length - 2)}"`).replace(/#.*$/, '');
  const open = /([\w.-]+)\s*=\s*\{(?=[^{}]*$|[^{}]*\{)/;
  for (let m = closed(rest).match(open); m; m = rest.match(open)) {
    path.push(...m[1]!.split('.'));
    rest = closed(rest.slice(m.index! + m[0].length));
  }
  const value = /([\w.-]+)\s*=\s*("?[\w.-]*)$/.exec(rest);
  if (value) return { path: [...path, ...value[1]!.split('.')], key: value[1]!, word: value[2]! };
  return { path, key: null, word: /[\w-]*$/.exec(rest)![0] };
}
/** Without inline tables that are closed. */
function closed(text: string): string {
  let now = text;
  for (let next = now.replace(/\{[^{}]*\}/g, ''); next !== now; next = now.replace(/\{[^{}]*\}/g, '')) now = next;
  return now;
}
/** The description of the key under an offset. */
export function hover(text: string, offset: number, root: Schema): Entry | null {
  const start = text.lastIndexOf('\n', offset - 1) + 1;
  const line = text.slice(start).split('\n')[0]!;
  for (const m of line.matchAll(/[\w-]+(?=\s*=)/g)) {
    const from = start + m.index!,
      to = from + m[0].length;
    if (offset < from || offset > to) continue;
    const { path } = place(text, from);
    return keys(path, root).find((k) => k.label === m[0]) ?? null;
  }
  return null;
}
