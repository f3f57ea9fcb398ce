/** The pages of the laboratory in the fragment of its address: `#s=LINK`, `#compare`, `#compare=LINK`, `#lesson=NUMBER`. */
export type Page = 'lab' | 'compare' | 'lessons';
/** `link`: the content of a link; `lesson`: its number, from 1. */
export interface Address {
  page: Page;
  link?: string;
  lesson?: number;
}

export function parse(hash: string): Address {
  const [key, value] = [hash.slice(1).split('=', 1)[0], hash.includes('=') ? hash.slice(hash.indexOf('=') + 1) : ''];
  if (key === 's') return { page: 'lab', link: value };
  if (key === 'compare') return value ? { page: 'compare', link: value } : { page: 'compare' };
  if (key === 'lesson' || key === 'lessons') {
    const lesson = Number(value);
    return { page: 'lessons', lesson: Number.isSafeInteger(lesson) && lesson > 0 ? lesson : 1 };
  }
  return { page: 'lab' };
}

/** The fragment of an address; empty for the laboratory without a link. */
export function fragment({ page, link, lesson }: Address): string {
  if (page === 'lessons') return `#lesson=${lesson ?? 1}`;
  if (page === 'compare') return link ? `#compare=${link}` : '#compare';
  return link ? `#s=${link}` : '';
}

/** Enter another page, so that Back returns to this one. */
export function enter(to: Address): void {
  if (fragment(to) !== location.hash) history.pushState(null, '', location.pathname + location.search + fragment(to));
}

/** Change the address of the page that is shown. */
export function rename(to: Address): void {
  history.replaceState(null, '', location.pathname + location.search + fragment(to));
}

/** Whether only this computer can open the address of this page. */
export const isLocal = (): boolean =>
  location.protocol === 'file:' || ['localhost', '127.0.0.1', '[::1]'].includes(location.hostname);
