/** A run that leaves the shown one at a time: the scenario with one more change, computed in a worker of its own. */
import { Client } from '../core/client';
import type { Curves, Ended, Messages, Outcome, Why } from '../core/types';
import { wasm } from '../core/wasm';
import { valueAt } from './panels';
import { asked, engine, run } from './run.svelte';
import { FILE, scenario } from './scenario.svelte';
import { time } from './time.svelte';

class Branch {
  /** Where it leaves the run, seconds; null: there is none. */
  at = $state<number | null>(null);
  /** The assignment that makes the change part of the scenario. */
  change = $state('');
  busy = $state(false);
  failure = $state('');
  outcome = $state.raw<Outcome | null>(null);
  curves = $state.raw<Curves | null>(null);
  /** The messages of its applications; null without applications. */
  messages = $state.raw<Messages | null>(null);
  /** What the run would have been without the drop or the mark that the panel Why names. */
  proof = $state('');
}
export const branch = new Branch();

let client: Client | null = null;
let turn = 0;

/** A value as TOML; what is no number, no switch, no table and not quoted is text. */
function toml(text: string): string {
  const plain = /^(true|false|[-+]?\d+(\.\d+)?(e[-+]?\d+)?)$/i.test(text) || /^["'[{]/.test(text);
  return plain ? text : JSON.stringify(text);
}
/** The assignment of a change at a time; `entries` are its keys as TOML. */
function assignment(at: number, entries: string): string {
  const names = new Set(scenario.checked?.changes ?? []);
  let name = 'what_if';
  for (let n = 2; names.has(name); n++) name = `what_if${n}`;
  return `change."${name}"={ at = "${Math.round(at * 1e12)}ps", ${entries} }`;
}
/** Runs the scenario with one more change; null if another call has begun since. */
async function compute(change: string): Promise<Ended | null> {
  const mine = ++turn;
  if (!client) client = new Client(await wasm());
  await client.ready;
  if (mine !== turn) return null;
  void client.call('stop', null).catch(() => undefined);
  await client.call('files', $state.snapshot(scenario.files));
  await client.call(
    'controller',
    scenario.controlled.length && scenario.confirmed ? { code: scenario.code, confirmed: true } : null,
  );
  const request = asked();
  const ended = await client.call('run', { ...request, file: FILE, set: [...request.set, change] });
  return mine === turn ? ended : null;
}
export function drop(): void {
  turn++;
  Object.assign(branch, {
    at: null,
    change: '',
    busy: false,
    failure: '',
    outcome: null,
    curves: null,
    messages: null,
    proof: '',
  });
}
/** Leaves the run at a time, with KEY=VALUE lines. */
export async function leave(at: number, lines: string[]): Promise<void> {
  drop();
  const values = lines.map((line) => {
    const [key, ...rest] = line.split('=');
    return `${JSON.stringify(key!.trim())} = ${toml(rest.join('=').trim())}`;
  });
  Object.assign(branch, { busy: true, change: assignment(at, `set = { ${values.join(', ')} }`) });
  try {
    const ended = await compute(branch.change);
    if (!ended) return; // another branch, or none, has taken its place
    const messages = ended.shape.applications?.length ? await client!.call('messages', null) : null;
    Object.assign(branch, { at, outcome: ended.outcome, messages });
    await look(900);
  } catch (error) {
    branch.failure = (error as Error).message.replace(/^.*what_if\d*(?:\.|: )(set\.)?/, '');
  }
  branch.busy = false;
}
/** The curves of the range that is looked at. */
export async function look(px: number): Promise<void> {
  if (!client || branch.at === null) return;
  const mine = turn,
    curves = await client.call('curves', { from: time.from, to: time.to, px });
  if (mine === turn) branch.curves = curves;
}
/** The scenario with the change, in place of the scenario. */
export function keep(): void {
  scenario.set = [...scenario.set, branch.change];
  drop();
}

/** The window of a flow at a time. */
async function windowAt(of: Client, flow: number, at: number): Promise<number> {
  const curves = await of.call('curves', { from: Math.max(0, at - 1e-3 * time.duration), to: at, px: 64 });
  const info = curves.series.find((s) => s.panel === 'cwnd' && s.flow === flow);
  if (!info) return NaN;
  const { start, points } = info;
  return valueAt(
    { x: curves.data.subarray(start, start + points), y: curves.data.subarray(start + points, start + 2 * points) },
    at,
  );
}
/** Takes back the drop or the mark that a Why names, and says what follows at a time. */
export async function prove(why: Why, at: number): Promise<void> {
  branch.proof = '';
  const { prevention } = why,
    shown = engine(),
    base = run.outcome;
  if (!prevention || !shown || !base || branch.at !== null || branch.busy || run.recordedRun) return;
  const flow = run.shape!.flows.indexOf(why.flow);
  try {
    const entries = `do = "${prevention.action}", link = ${JSON.stringify(prevention.link)}, flow = ${JSON.stringify(why.flow)}, packet = ${prevention.packet}`;
    const ended = await compute(assignment(prevention.at_s, entries));
    if (!ended?.outcome || !client || run.why !== why) return;
    const mine = turn,
      [had, has] = [await windowAt(shown, flow, at), await windowAt(client, flow, at)];
    const before = base.flows[flow]?.goodput_bps ?? 0,
      after = ended.outcome.flows[flow]?.goodput_bps ?? 0;
    if (mine !== turn || run.why !== why) return;
    const change = before ? `, goodput ${(100 * (after / before - 1)).toFixed(1).replace(/^(?!-)/, '+')} %` : '';
    branch.proof = `Without this ${prevention.action === 'keep_next' ? 'drop' : 'mark'}: window ${has.toPrecision(4)} instead of ${had.toPrecision(4)} at ${at.toFixed(3)} s${change}.`;
  } catch {
    /* a network whose drops cannot be taken back has no last line */
  }
}
