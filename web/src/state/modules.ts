/** Controllers in WebAssembly modules: files of the scenario that flows name. */
import { EXAMPLE_MODULE } from '../core/example';
import { toBase64 } from '../share/base64';
import { scenario } from './scenario.svelte';

/** Most bytes of a module. */
export const MOST_BYTES = 4 * 1024 * 1024;
export const isModule = (name: string): boolean => name.endsWith('.wasm');
/** The modules of the scenario. */
export const modules = (): string[] => Object.keys(scenario.files).filter(isModule).sort();
/** A name as a key of TOML has it. */
export const quoted = (name: string): string => (/^[\w-]+$/.test(name) ? name : JSON.stringify(name));

const key = (flow: string, kind: string): string => `flow.${quoted(flow)}.${kind}.congestion_control`;
/** The module of a flow, if a change names one; '' otherwise. */
export function moduleOf(flow: string, kind: string): string {
  const change = scenario.set.findLast((set) => set.startsWith(`${key(flow, kind)}=`));
  return /wasm = "([^":]+)/.exec(change ?? '')?.[1] ?? '';
}
/** Gives a flow a module, or without one the controller of the file. */
export function setModule(flow: string, kind: string, module: string): void {
  const others = scenario.set.filter((set) => !set.startsWith(`${key(flow, kind)}`));
  scenario.set = module ? [...others, `${key(flow, kind)}={ wasm = ${JSON.stringify(module)} }`] : others;
}
/** Adds a module to the scenario. The first flow that can have a controller gets it. */
export function addModule(name: string, bytes: Uint8Array): void {
  const file = name.replace(/[^\w.-]/g, '_');
  scenario.files = { ...scenario.files, [file]: { base64: toBase64(bytes) } };
  const first = (scenario.checked?.network.flows ?? []).find((flow) => flow.kind !== 'udp');
  if (first) setModule(first.name, first.kind, file);
}
/** Adds the example, Reno in C. */
export const addExample = (): void => addModule(EXAMPLE_MODULE.file, EXAMPLE_MODULE.bytes);
