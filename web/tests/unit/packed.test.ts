import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { built } from '../../src/state/scenario.svelte';
import { root } from './node';

it('holds the files of the scenarios as they are', () => {
  let seen = 0;
  for (const { files } of built) for (const [name, file] of Object.entries(files)) {
    const bytes = readFileSync(join(root, '../scenarios', name)), plain = bytes[0] === 0x1f ? gunzipSync(bytes) : bytes;
    expect(file.text !== undefined ? Buffer.from(file.text) : Buffer.from(file.base64!, 'base64'), name).toEqual(file.text !== undefined ? plain : bytes);
    seen++;
  }
  expect(seen).toBeGreaterThan(2);
});
