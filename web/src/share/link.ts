/** A link holds a scenario and its seed: deflate, base64url, in the fragment, which no browser sends to a server. */
import { Inflate, deflateSync, strFromU8, strToU8 } from 'fflate';
import type { Files } from '../core/types';
import { fromUrl, toUrl } from './base64';

export interface View {
  page?: 'lab' | 'compare';
  from?: number;
  to?: number;
  at?: number;
  flow?: string;
  a?: string[];
  b?: string[];
  seeds?: number;
}
export interface Shared {
  v: 1;
  text: string;
  set?: string[];
  seed?: number;
  files?: Files;
  /** Controllers of the page: code, and the class of each flow. */
  controller?: { code: string; flows: Record<string, string> };
  view?: View;
  engine?: string;
}
/** Characters of a link that chat programs and mail keep whole. */
export const LONGEST_LINK = 8_000;
/** Bytes after inflation. */
export const LARGEST = 1_000_000;

export class BadLink extends Error {}

export function pack(shared: Shared): string {
  return toUrl(deflateSync(strToU8(JSON.stringify(shared)), { level: 9 }));
}

/** Raises BadLink for anything that `pack` does not write. */
export function unpack(text: string): Shared {
  if (!/^[A-Za-z0-9_-]*$/.test(text) || text.length > LARGEST)
    throw new BadLink('the link is damaged: it has characters that no link has');
  let json: string;
  try {
    json = strFromU8(inflate(fromUrl(text)));
  } catch (error) {
    if (error instanceof BadLink) throw error;
    throw new BadLink('the link is damaged: it may have been cut; copy it again');
  }
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw new BadLink('the link is damaged: its content is not complete');
  }
  return check(value);
}

function inflate(bytes: Uint8Array): Uint8Array {
  const parts: Uint8Array[] = [];
  let size = 0,
    ended = false;
  const stream = new Inflate((part, final) => {
    parts.push(part);
    size += part.length;
    ended ||= final;
  });
  // In pieces, so that a small link cannot become a large text.
  for (let i = 0; i < bytes.length; i += 1024) {
    stream.push(bytes.subarray(i, i + 1024), i + 1024 >= bytes.length);
    if (size > LARGEST) throw new BadLink(`the link holds more than ${LARGEST.toLocaleString('en')} bytes`);
  }
  if (!ended) throw new BadLink('the link is damaged: it was cut; copy it again');
  const all = new Uint8Array(size);
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === 'string';

/** The value as a link's content; also for files and recorded pages. Raises BadLink. */
export function check(value: unknown): Shared {
  if (!isObject(value)) throw new BadLink('the link holds no scenario');
  if (value.v !== 1)
    throw new BadLink(`the link is of version ${String(value.v).slice(0, 20)}; this page reads version 1`);
  if (!isText(value.text)) throw new BadLink('the link holds no scenario');
  const { set, seed, files, controller, view, engine } = value;
  if (set !== undefined && !(Array.isArray(set) && set.every(isText)))
    throw new BadLink('set in the link is not a list of KEY=VALUE');
  if (seed !== undefined && !(Number.isSafeInteger(seed) && Number(seed) >= 0))
    throw new BadLink('seed in the link is not a whole number from 0 to 2^53 - 1');
  if (
    files !== undefined &&
    !(isObject(files) && Object.values(files).every((f) => isObject(f) && (isText(f.text) || isText(f.base64))))
  )
    throw new BadLink('files in the link are damaged');
  if (
    controller !== undefined &&
    !(
      isObject(controller) &&
      isText(controller.code) &&
      isObject(controller.flows) &&
      Object.values(controller.flows).every(isText)
    )
  )
    throw new BadLink('the controller in the link is damaged');
  if (engine !== undefined && !isText(engine)) throw new BadLink('engine in the link is not a text');
  const shared: Shared = { v: 1, text: value.text };
  if (set) shared.set = set as string[];
  if (seed !== undefined) shared.seed = Number(seed);
  if (files) shared.files = files as Files;
  if (controller) shared.controller = controller as Shared['controller'];
  if (isObject(view)) shared.view = checkView(view);
  if (engine) shared.engine = engine;
  return shared;
}

function checkView(value: Record<string, unknown>): View {
  const view: View = {};
  if (value.page === 'lab' || value.page === 'compare') view.page = value.page;
  for (const key of ['from', 'to', 'at'] as const) {
    const v = value[key];
    if (typeof v === 'number' && Number.isFinite(v) && v >= 0) view[key] = v;
  }
  if (isText(value.flow)) view.flow = value.flow;
  for (const key of ['a', 'b'] as const) {
    const v = value[key];
    if (Array.isArray(v) && v.every(isText)) view[key] = v;
  }
  if (Number.isSafeInteger(value.seeds) && Number(value.seeds) >= 1 && Number(value.seeds) <= 1000)
    view.seeds = Number(value.seeds);
  return view;
}
