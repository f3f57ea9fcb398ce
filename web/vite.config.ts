import { isUtf8 } from 'node:buffer';
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { gunzipSync } from 'node:zlib';
import { defineConfig, type Plugin } from 'vite';
import { STEP, fromSteps, type PackedFile } from './src/share/packed.ts';

const root = import.meta.dirname;
const wasm = process.env.ACKCLOCK_WASM ?? join(root, 'ackclock.wasm');
const page = resolve(process.env.ACKCLOCK_PAGE ?? join(root, '../python/ackclock/web/lab.html'));

/** `import core from 'virtual:core'`: the simulator. In the page the boot script has unpacked it; elsewhere it is in base64. */
const core = (): Plugin => {
  let serves = true;
  return {
    name: 'ackclock-core',
    configResolved(config) { serves = config.command === 'serve'; },
    resolveId: (id) => (id === 'virtual:core' || id === 'virtual:scenarios' || id === 'virtual:notices' || id === 'virtual:example' ? `\0${id}` : undefined),
    load(id) {
      if (id === '\0virtual:core') return serves ? `export default Uint8Array.from(atob(${JSON.stringify(readFileSync(wasm).toString('base64'))}), (c) => c.charCodeAt(0)).buffer` : 'export default globalThis.ackclockCore';
      if (id === '\0virtual:scenarios') return `export default ${JSON.stringify(scenarios())}`;
      if (id === '\0virtual:example') return `export default ${JSON.stringify(example())}`;
      if (id === '\0virtual:notices') return `export default ${JSON.stringify(notices())}`;
      return undefined;
    },
  };
};

/** A controller in C: its source, which `ackclock new mine.c` writes, and the module that its first lines build. */
function example(): { source: string; module: string } {
  const source = readFileSync(join(root, '../python/ackclock/cli/templates/controller.c.txt'), 'utf8');
  return { source, module: readFileSync(join(root, 'src/core/mine.wasm')).toString('base64') };
}
/** The licences of what the page contains. */
const BUNDLED = ['svelte', 'uplot', 'fflate', 'd3-geo', 'd3-array', 'internmap', 'topojson-client', 'style-mod', 'w3c-keyname', 'crelt', '@marijn/find-cluster-break', '@lezer/common', '@lezer/highlight',
  ...['autocomplete', 'commands', 'language', 'legacy-modes', 'lint', 'state', 'view'].map((name) => `@codemirror/${name}`)];
function notices(): { name: string; version: string; text: string }[] {
  return BUNDLED.map((name) => {
    const folder = join(root, 'node_modules', name), file = readdirSync(folder).find((f) => /^licen[cs]e/i.test(f));
    const about = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8')) as { version: string; license: string };
    return { name, version: about.version, text: file ? readFileSync(join(folder, file), 'utf8').trim() : about.license };
  });
}
/** A file as text if it is one, unpacked, because it is packed again with the page; a list of whole numbers as its steps. */
function content(bytes: Buffer): PackedFile {
  const plain = bytes[0] === 0x1f && bytes[1] === 0x8b ? gunzipSync(bytes) : bytes;
  if (!isUtf8(plain)) return { base64: bytes.toString('base64') };
  const text = plain.toString(), numbers = text.trim().split('\n').map(Number);
  const steps = numbers.map((n, i) => String.fromCharCode(STEP + n - (numbers[i - 1] ?? 0))).join('');
  return fromSteps(steps) === text ? { steps } : { text };
}
/** The scenarios of the repository, with the files that they name, except those with QUIC, which is not in the core for browsers. */
function scenarios(): { name: string; text: string; files: Record<string, PackedFile> }[] {
  const folder = join(root, '../scenarios');
  const quic = (name: string): boolean => /^\[quic\]|^quic\s*=/m.test(readFileSync(join(folder, name), 'utf8'));
  return readdirSync(folder).filter((name) => name.endsWith('.toml') && !quic(name)).sort().map((name) => {
    const text = readFileSync(join(folder, name), 'utf8');
    const named = [...text.matchAll(/^\s*(?:file|fit|extends)\s*=\s*"([^"]+)"|[{,]\s*file\s*=\s*"([^"]+)"/gm)].map((m) => m[1] ?? m[2] ?? '');
    const files = Object.fromEntries(named.map((file) => [file, content(readFileSync(join(folder, file)))]));
    return { name: name.slice(0, -5), text, files };
  });
}

/** LZMA as boot.js reads it, by the standard library of Python: a quarter smaller than gzip. */
const LZMA = `import lzma, sys
kind = {"id": lzma.FILTER_LZMA1, "preset": 9 | lzma.PRESET_EXTREME, "lc": 4, "lp": 0, "pb": 0, "nice_len": 150}
sys.stdout.buffer.write(lzma.compress(sys.stdin.buffer.read(), lzma.FORMAT_RAW, filters=[kind]))`;
/** The element with simulator and program, and the script that runs them; they are the largest part of the page. */
function packed(program: string): string {
  const core = readFileSync(wasm), code = Buffer.from(program);
  const bytes = execFileSync(process.env.PYTHON ?? 'python3', ['-c', LZMA], { input: Buffer.concat([core, code]), maxBuffer: 1 << 28 });
  const boot = readFileSync(join(root, 'boot.js'), 'utf8').split('\n').map((line) => line.trim()).filter((line) => line && !/^(\/\/|\/\*\*)/.test(line)).join('\n');
  const run = "boot(document.getElementById('program'));";
  return `<script type="text/plain" id="program" data-sizes="${core.length} ${code.length}">${bytes.toString('base64')}</script><script>${boot}\n${run}</script>`;
}
/** Everything into one HTML file: one inline style, one packed program. */
const single = (): Plugin => ({
  name: 'single-file',
  enforce: 'post',
  generateBundle(_, bundle) {
    const html = bundle['index.html'];
    if (html?.type !== 'asset') return;
    let text = String(html.source);
    for (const [name, part] of Object.entries(bundle)) {
      if (part.type === 'chunk') {
        text = text.replace(new RegExp(`<script[^>]*${part.fileName}[^>]*></script>`), '');
        text = text.replace('</body>', () => `${packed(part.code)}</body>`);
        delete bundle[name];
      } else if (name.endsWith('.css')) {
        text = text.replace(new RegExp(`<link[^>]*${name}[^>]*>`), () => `<style>${String(part.source)}</style>`);
        delete bundle[name];
      }
    }
    html.source = text;
  },
  writeBundle(options, bundle) {
    const html = bundle['index.html'];
    if (html?.type !== 'asset') return;
    mkdirSync(resolve(page, '..'), { recursive: true });
    writeFileSync(page, html.source);
    rmSync(options.dir ?? 'dist', { recursive: true, force: true });
  },
});

export default defineConfig({
  base: './',
  plugins: [core(), svelte(), single()],
  worker: { format: 'iife' },
  build: { target: 'es2022', assetsInlineLimit: 0, cssCodeSplit: false, modulePreload: false, chunkSizeWarningLimit: 4000, reportCompressedSize: false },
  test: { include: ['tests/unit/**/*.test.ts'], testTimeout: 60_000 },
} as Parameters<typeof defineConfig>[0]);
