/** Memory of the page with a run of more than 30 million packet-hops, and of a range of it: `node tests/page/memory.mjs PAGE [SECONDS]`. */
import { readFileSync, readdirSync } from 'node:fs';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu', '--js-flags=--expose-gc'] });
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
const ended = () => page.waitForFunction(() => document.documentElement.dataset.state === 'ended', undefined, { timeout: 600_000 });
const session = await page.context().newCDPSession(page);
await session.send('Performance.enable');
/** Anonymous memory of the renderer with the most, bytes. */
function renderer() {
  const own = readdirSync('/proc').filter((p) => /^\d+$/.test(p)).map((p) => {
    try { return readFileSync(`/proc/${p}/cmdline`, 'utf8').includes('--type=renderer') ? Number(/RssAnon:\s+(\d+)/.exec(readFileSync(`/proc/${p}/status`, 'utf8'))?.[1] ?? 0) * 1024 : 0; } catch { return 0; }
  });
  return Math.max(...own);
}
async function say(what) {
  await page.evaluate(() => globalThis.gc?.());
  await page.waitForTimeout(1500);
  const { metrics } = await session.send('Performance.getMetrics');
  const heap = metrics.find((m) => m.name === 'JSHeapUsedSize').value, core = await page.evaluate(() => Number(document.documentElement.dataset.bytes));
  console.log(`${what}: core ${(core / 1e6).toFixed(0)} MB, page's heap ${(heap / 1e6).toFixed(0)} MB, together ${((core + heap) / 1e6).toFixed(0)} MB; renderer process ${(renderer() / 1e6).toFixed(0)} MB`);
}
await page.goto('about:blank');
await page.waitForTimeout(500);
console.log(`an empty page: renderer process ${(renderer() / 1e6).toFixed(0)} MB`);
await page.goto(pathToFileURL(process.argv[2]).href);
await ended();
await say('dumbbell, 60 s');
const text = readFileSync(new URL('../../../scenarios/dumbbell.toml', import.meta.url), 'utf8').replace('"60s"', `"${process.argv[3] ?? 4300}s"`);
await page.locator('.cm-content').first().click();
await page.keyboard.press('Control+a');
await page.keyboard.insertText(text);
await page.waitForTimeout(500);
const began = performance.now();
await page.keyboard.press('Control+Enter');
await page.waitForFunction(() => document.documentElement.dataset.state === 'running');
await ended();
console.log(`${Math.round(performance.now() - began)} ms for the run; ${(await page.locator('[aria-label=Outcome]').innerText()).match(/[^\n]*packet-hops[^\n]*/)?.[0] ?? ''}`);
await say('the long run');
await page.screenshot({ path: process.env.SHOT ?? '/tmp/long.png' });
const over = page.locator('[data-panel=cwnd] .u-over'), box = await over.boundingBox();
await page.mouse.move(box.x + box.width * 0.5, box.y + 40);
await page.mouse.down();
await page.mouse.move(box.x + box.width * 0.5 + 9, box.y + 60, { steps: 4 });
await page.mouse.up();
const again = performance.now();
await page.waitForSelector('text=It is computed again');
await page.screenshot({ path: (process.env.SHOT ?? '/tmp/long.png').replace('.png', '-record.png') });
await page.waitForSelector('text=It is computed again', { state: 'detached', timeout: 600_000 });
await page.waitForTimeout(300);
console.log(`${Math.round(performance.now() - again)} ms to record ${await page.locator('.axis').innerText()}`);
await say('a range of it');
await page.getByRole('button', { name: /Last fall before/ }).click();
await page.locator('.why .cause').waitFor({ timeout: 600_000 });
console.log((await page.locator('.why .cause').innerText()).slice(0, 160));
await page.screenshot({ path: (process.env.SHOT ?? '/tmp/long.png').replace('.png', '-range.png') });
await browser.close();
