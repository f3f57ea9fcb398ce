/** A recorded run inside the page, which `ackclock view` writes: it is shown as it was recorded, and nothing is computed. */
import type { RunMetadata, Recording } from '../core/recorded';
import { RECORDING } from '../share/files';
import { check as checkShared, type Shared } from '../share/link';
import { type RecordingNotes, engine, key, look, mark, run, start } from './run.svelte';
import { FILE, scenario, takeShared } from './scenario.svelte';
import { claim } from './shown.svelte';
import { showHeld } from './transfer.svelte';
import { resetTime } from './time.svelte';

/** The recorded run as text. */
export const recordingText = (): string => document.getElementById(RECORDING)?.textContent ?? 'null';
export const hasRecording = (): boolean => document.getElementById(RECORDING) !== null;

function reasonOf(about: RunMetadata, computable: boolean): string {
  if (about.python.length)
    return `a controller is written in Python (${about.python.join(', ')}), which this page cannot run`;
  return computable
    ? 'a recording has no state of the simulator. The page can compute this run instead'
    : 'the recording does not have its scenario';
}
const requestOf = (shared: Shared): { file: string; text: string; set: string[]; seed?: number } => ({
  file: FILE,
  text: shared.text,
  set: shared.set ?? [],
  ...(shared.seed === undefined ? {} : { seed: shared.seed }),
});

/** Opens the page's recorded run. */
export async function showRecording(): Promise<void> {
  const text = recordingText();
  if (!run.catalog) await start();
  const client = engine();
  if (!client) return;
  if (text.startsWith('{"transfer"')) return showHeld(text);
  claim();
  try {
    const recording = JSON.parse(text) as Recording,
      { about } = recording;
    takeShared(about.shared.text ? checkShared(about.shared) : { v: 1, text: '' });
    const notes: RecordingNotes = {
      source: about.title || about.file,
      notes: recording.notes,
      reason: '',
      packets: recording.packets !== null,
      computable: false,
      causes: recording.causes != null,
      seed: about.seed,
    };
    Object.assign(run, { recordedRun: notes, key: key() });
    const shape = await client.call('record', text);
    if (!shape) return;
    await readNetwork(about);
    const computable = !about.python.length && about.shared.text !== '' && scenario.checked !== null;
    Object.assign(run, {
      failure: '',
      why: null,
      whyNote: '',
      shape,
      outcome: about.outcome,
      fingerprint: about.fingerprint,
      ms: 0,
      bytes: 0,
      now: about.duration_s,
      duration: about.duration_s,
      recordedRange: null,
      recordedRun: { ...notes, reason: reasonOf(about, computable), computable },
    });
    resetTime(about.duration_s);
    await look();
    mark('ended');
  } catch (error) {
    run.failure = `The recording cannot be shown: ${error instanceof Error ? error.message : String(error)}`;
    mark('error');
  }
}
/** Rates and delays of the links, and satellites or radio nodes: from the scenario, with controllers that the core has. */
async function readNetwork(about: RunMetadata): Promise<void> {
  const network = about.geometry ?? about.shared;
  scenario.checked = null;
  scenario.places = about.geometry ? requestOf(about.geometry) : null;
  scenario.placesFiles = about.geometry?.files ?? {};
  if (!network.text || (about.python.length && !about.geometry)) return;
  try {
    await engine()?.call('files', network.files ?? {});
    scenario.checked = (await engine()?.call('check', requestOf(network))) ?? null;
  } catch {
    /* the network is drawn from the names of the links alone */
  }
}
