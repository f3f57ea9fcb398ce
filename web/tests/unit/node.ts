/** The core in Node, as the tests use it: the same file that the page has. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Lab, type PassEvent } from '../../src/core/lab';
import type { RunRequest } from '../../src/core/types';

export const root = join(import.meta.dirname, '../..');
export const module = new WebAssembly.Module(readFileSync(process.env.ACKCLOCK_WASM ?? join(root, 'ackclock.wasm')));
export const example = { 'mine.wasm': { base64: readFileSync(join(root, 'src/core/mine.wasm')).toString('base64') } };
export const lab = (passEvent?: PassEvent): Lab => new Lab(module, passEvent);
export function finish(core: Lab, request: Partial<RunRequest> & { text: string }) {
  core.open({ file: 'scenario.toml', set: [], trace: 'ack', packets: true, rules: true, fingerprint: true, ...request });
  while (!core.advance(1e6));
  return { outcome: core.outcome(), fingerprint: core.fingerprint() };
}
export const scenario = (name: string): string => readFileSync(join(root, '../scenarios', `${name}.toml`), 'utf8');
