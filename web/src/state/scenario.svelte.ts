/** The scenario under work: text, changes by knobs, seed, files, controller. */
import scenarios from 'virtual:scenarios';
import type { Checked, Files, Problem, ScenarioRequest } from '../core/types';
import { unpacked } from '../share/packed';
import { type Shared, type View } from '../share/link';

export const FILE = 'scenario.toml';
/** The scenarios of the repository; their files are unpacked when they are used. */
export const built = scenarios.map(({ name, text, files }) => ({
  name,
  text,
  get files(): Files {
    return unpacked(files);
  },
}));
export const FIRST = 'dumbbell';

export const scenario = $state({
  name: FIRST,
  text: '',
  set: [] as string[],
  /** Null: the file's. */
  seed: null as number | null,
  files: {} as Files,
  code: '',
  /** The flows that the page's controller has. */
  controlled: [] as string[],
  /** Code that came in a link runs only after the user has confirmed it. */
  confirmed: true,
  checked: null as Checked | null,
  problem: null as Problem | null,
  /** For a recorded run whose scenario the core cannot run: one with the same network, which it can. */
  places: null as ScenarioRequest | null,
  /** The files of that one. */
  placesFiles: {} as Files,
});

export function load(name: string): void {
  const found = built.find((s) => s.name === name);
  if (!found) return;
  Object.assign(scenario, {
    name,
    text: found.text,
    set: [],
    seed: null,
    files: found.files,
    problem: null,
    checked: null,
    controlled: [],
  });
}
/** A scenario that is not one of the list. */
export function take(text: string, files: Files = {}, name = ''): void {
  Object.assign(scenario, { name, text, set: [], seed: null, files, problem: null, checked: null, controlled: [] });
}
/** What `restore` brings back. */
export const keep = () => ({
  name: scenario.name,
  text: scenario.text,
  set: $state.snapshot(scenario.set),
  seed: scenario.seed,
  files: $state.snapshot(scenario.files),
  controlled: $state.snapshot(scenario.controlled),
});
export function restore(kept: ReturnType<typeof keep>): void {
  Object.assign(scenario, kept, { problem: null, checked: null });
}
export function takeShared(shared: Shared): void {
  Object.assign(scenario, {
    name: '',
    text: shared.text,
    set: shared.set ?? [],
    seed: shared.seed ?? null,
    files: shared.files ?? {},
    problem: null,
    checked: null,
  });
  scenario.code = shared.controller?.code ?? '';
  scenario.controlled = Object.keys(shared.controller?.flows ?? {});
  scenario.confirmed = !shared.controller;
}
export function shared(engine: string, view?: View): Shared {
  const out: Shared = { v: 1, text: scenario.text };
  if (scenario.set.length) out.set = $state.snapshot(scenario.set);
  if (scenario.seed !== null) out.seed = scenario.seed;
  if (Object.keys(scenario.files).length) out.files = $state.snapshot(scenario.files);
  if (scenario.controlled.length)
    out.controller = {
      code: scenario.code,
      flows: Object.fromEntries(scenario.controlled.map((flow) => [flow, 'page'])),
    };
  if (view) out.view = view;
  if (engine) out.engine = engine;
  return out;
}
/** The scenario that gives the places of satellites and radio nodes. */
export const placesRequest = (): ScenarioRequest => scenario.places ?? request();
export function request(): ScenarioRequest {
  const out: ScenarioRequest = { file: FILE, text: scenario.text, set: $state.snapshot(scenario.set) };
  if (scenario.seed !== null) out.seed = scenario.seed;
  return out;
}
