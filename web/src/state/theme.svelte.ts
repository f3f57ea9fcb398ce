/** Light or dark: by system until the user chooses. */
type Choice = 'system' | 'light' | 'dark';
const query = typeof matchMedia === 'function' ? matchMedia('(prefers-color-scheme: dark)') : null;
export const theme = $state({ choice: 'system' as Choice, dark: query?.matches ?? false });
const stored = (): string | null => {
  try {
    return localStorage.getItem('ackclock-theme');
  } catch {
    return null;
  }
};

export function chooseTheme(choice: Choice): void {
  theme.choice = choice;
  theme.dark = choice === 'dark' || (choice === 'system' && !!query?.matches);
  document.documentElement.dataset.theme = theme.dark ? 'dark' : 'light';
  try {
    localStorage.setItem('ackclock-theme', choice);
  } catch {
    /* storage is off: the choice lasts as long as the page */
  }
}
export function startTheme(): void {
  const kept = stored();
  chooseTheme(kept === 'light' || kept === 'dark' ? kept : 'system');
  query?.addEventListener('change', () => {
    if (theme.choice === 'system') chooseTheme('system');
  });
}

/** Okabe and Ito's colours; on dark paper lighter ones of the same hues. */
const LIGHT = ['#0072B2', '#D55E00', '#009E73', '#B5559A', '#B87A00', '#2A8FC7', '#6B6F76'];
const DARK = ['#56A9E8', '#F08A4B', '#3CC79B', '#E392C8', '#F0B83C', '#8AD2F7', '#A9B0BA'];
export const colour = (index: number, dark = theme.dark): string => {
  const all = dark ? DARK : LIGHT;
  return all[index % all.length]!;
};
/** Dash patterns repeat after the colours, so that the eighth flow differs from the first. */
export const dash = (index: number): number[] =>
  [[], [6, 3], [2, 2], [8, 3, 2, 3]][Math.floor(index / LIGHT.length) % 4]!;
