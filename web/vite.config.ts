import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { gzipSync } from 'node:zlib';
import { svelte } from '@sveltejs/vite-plugin-svelte';
import { defineConfig, type Plugin } from 'vite';

const root = import.meta.dirname;
const wasm = process.env.ACKCLOCK_WASM ?? join(root, 'ackclock.wasm');
const page = resolve(process.env.ACKCLOCK_PAGE ?? join(root, '../python/ackclock/web/lab.html'));

/** `import wasm from 'virtual:core'`: the core, gzip in base64, so that the page opens from disk. */
const core = (): Plugin => ({
  name: 'ackclock-core',
  resolveId: (id) => (id === 'virtual:core' || id === 'virtual:scenarios' || id === 'virtual:notices' ? `\0${id}` : undefined),
  load(id) {
    if (id === '\0virtual:core') return `export default ${JSON.stringify(gzipSync(readFileSync(wasm), { level: 9 }).toString('base64'))}`;
    if (id === '\0virtual:scenarios') return `export default ${JSON.stringify(scenarios())}`;
    if (id === '\0virtual:notices') return `export default ${JSON.stringify(notices())}`;
    return undefined;
  },
});

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
/** The scenarios of the repository, with the files that they name. */
function scenarios(): { name: string; text: string; files: Record<string, { base64: string }> }[] {
  const folder = join(root, '../scenarios');
  return readdirSync(folder).filter((name) => name.endsWith('.toml')).sort().map((name) => {
    const text = readFileSync(join(folder, name), 'utf8');
    const named = [...text.matchAll(/^\s*(?:file|fit|extends)\s*=\s*"([^"]+)"|[{,]\s*file\s*=\s*"([^"]+)"/gm)].map((m) => m[1] ?? m[2] ?? '');
    const files = Object.fromEntries(named.map((file) => [file, { base64: readFileSync(join(folder, file)).toString('base64') }]));
    return { name: name.slice(0, -5), text, files };
  });
}

/** Unpacks the program and runs it as an inline module; the program is the largest part of the page. */
const BOOT = `const packed = document.getElementById('program').textContent;
const bytes = Uint8Array.from(atob(packed), (c) => c.charCodeAt(0));
new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream('gzip'))).text().then((code) => {
  const script = document.createElement('script');
  script.type = 'module';
  script.id = 'running';
  script.textContent = code;
  document.body.append(script);
});`;
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
        const code = gzipSync(part.code, { level: 9 }).toString('base64');
        text = text.replace(new RegExp(`<script[^>]*${part.fileName}[^>]*></script>`), '');
        text = text.replace('</body>', () => `<script type="text/plain" id="program">${code}</script><script>${BOOT}</script></body>`);
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
