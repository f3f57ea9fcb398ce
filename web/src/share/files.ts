/** Files: a page with the scenario inside, for what is too long for a link; opening and saving. */
import type { TransferFile } from '../core/transfer';
import { type Shared, check } from './link';

/** The element of a page that holds a scenario; `ackclock view` writes the same. */
export const EMBEDDED = 'ackclock-scenario';

/** The element of a page that holds a recorded run, or a recording; python/ackclock/apps/view writes it. */
export const RECORDING = 'ackclock-recording';

/** JSON that cannot end a script element. */
export const inScript = (content: unknown): string => JSON.stringify(content).replaceAll('<', '\\u003c');

/** The scenario inside this page, if `ackclock view` or Share wrote one. Raises BadLink if it is damaged. */
export function embedded(): Shared | null {
  const text = document.getElementById(EMBEDDED)?.textContent;
  return text ? check(JSON.parse(text)) : null;
}

/** The element with addresses of other pages, by the words of the links; `ackclock view` and the site write it. */
const DOORS = 'ackclock-doors';
/** Relative addresses of pages: a page of a stranger leads nowhere else, and to no script. */
const PLACE = /^(\.\.\/)*[\w-]+(\/[\w-]+)*\.html$/;

/** The pages to which this one leads: results and documentation. */
export function doors(): [words: string, address: string][] {
  try {
    const places: Record<string, unknown> = JSON.parse(document.getElementById(DOORS)?.textContent ?? '{}');
    return Object.entries(places).filter(
      (door): door is [string, string] => typeof door[1] === 'string' && PLACE.test(door[1]),
    );
  } catch {
    return [];
  }
}

/** The source of this page before anything ran: what a saved copy starts from. */
let source = '';
export function remember(): void {
  const copy = document.documentElement.cloneNode(true) as HTMLElement;
  copy.querySelector(`#${EMBEDDED}`)?.remove();
  // What `ackclock view` adds: a recorded run, and the channel that reloads a page that is served.
  copy.querySelector(`#${RECORDING}`)?.remove();
  copy.querySelector('#ackclock-watch')?.remove();
  copy.querySelector(`#${DOORS}`)?.remove(); // a copy lies elsewhere
  const policy = copy.querySelector('meta[http-equiv="Content-Security-Policy"]');
  policy?.setAttribute(
    'content',
    (policy.getAttribute('content') ?? '').replace(/connect-src [^;]*/, "connect-src 'none'"),
  );
  copy.querySelector('#running')?.remove();
  copy.querySelector('#app')?.replaceChildren();
  for (const name of copy.getAttributeNames()) if (name !== 'lang') copy.removeAttribute(name);
  source = `<!doctype html>\n${copy.outerHTML}`;
}
const holding = (element: string, content: unknown): string =>
  source.replace(
    '<div id="app">',
    () => `<script type="application/json" id="${element}">${inScript(content)}</script><div id="app">`,
  );
export const pageWith = (shared: Shared): string => holding(EMBEDDED, shared);
/** The page that opens with the recording of a real transfer. */
export const pageWithTransfer = (transfer: TransferFile): string => holding(RECORDING, { transfer });

export function save(name: string, content: string | Blob, type: string): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
