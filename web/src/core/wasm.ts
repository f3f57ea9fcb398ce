/** The bytes of the core, unpacked once. */
import packed from 'virtual:core';
import { fromBase64 } from '../share/base64';

let bytes: Promise<ArrayBuffer> | undefined;
export function wasm(): Promise<ArrayBuffer> {
  bytes ??= new Response(new Blob([fromBase64(packed)]).stream().pipeThrough(new DecompressionStream('gzip'))).arrayBuffer();
  return bytes;
}
