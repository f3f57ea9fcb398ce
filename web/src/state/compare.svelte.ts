/** The two settings of A beside B: values that replace the scenario's, one KEY=VALUE a line, and the number of seeds. */
import type { View } from '../share/link';

/** `of`: the scenario that the settings are for; `link` for the one that a link has set. */
export const compare = $state({ a: '', b: '', seeds: 8, of: '' });
export const lines = (text: string): string[] =>
  text
    .split('\n')
    .map((l) => l.trim())
    .filter(Boolean);
export const shown = (): View => ({ a: lines(compare.a), b: lines(compare.b), seeds: compare.seeds });
export function takeView(view: View): void {
  if (view.a && view.b)
    Object.assign(compare, {
      a: view.a.join('\n'),
      b: view.b.join('\n'),
      seeds: Math.max(2, Math.min(200, view.seeds ?? 8)),
      of: 'link',
    });
}
