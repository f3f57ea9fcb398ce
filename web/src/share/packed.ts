/** Files of the scenarios as the page holds them. */
import type { FileContent, Files } from '../core/types';

/** A list of whole numbers, one a line, as one character for each step from the number before. */
export type PackedFile = FileContent | { steps: string };
/** The character of a step of zero. */
export const STEP = 0x100;

export function fromSteps(steps: string): string {
  let at = 0,
    text = '';
  for (let i = 0; i < steps.length; i++) text += `${(at += steps.charCodeAt(i) - STEP)}\n`;
  return text;
}
export const unpacked = (files: Record<string, PackedFile>): Files =>
  Object.fromEntries(
    Object.entries(files).map(([name, file]) => [name, 'steps' in file ? { text: fromSteps(file.steps) } : file]),
  );
