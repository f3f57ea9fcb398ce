/** Frames a second and CPU milliseconds a frame of the globe with Starlink's shell, while it plays and while it is turned: `node tests/page/globe.mjs PAGE`. */
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
await page.goto(pathToFileURL(process.argv[2]).href);
const ended = () => page.waitForFunction(() => document.documentElement.dataset.state === 'ended', undefined, { timeout: 300_000 });
await ended();
await page.locator('.pick select').selectOption('starlink');
await page.waitForTimeout(300);
await ended();
await page.waitForFunction(() => Number(document.querySelector('[data-satellites]')?.dataset.satellites) >= 1584, undefined, { timeout: 120_000 });
await page.locator('.transport select').selectOption({ label: '10×' });
const session = await page.context().newCDPSession(page);
const SECONDS = 5;
async function measure(what, work) {
  const events = [];
  const take = ({ value }) => events.push(...value);
  session.on('Tracing.dataCollected', take);
  const done = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve));
  await session.send('Tracing.start', { categories: 'toplevel,cc,devtools.timeline', transferMode: 'ReportEvents' });
  const before = await page.evaluate(() => globalThis.ackclockFrames ?? 0);
  await work();
  const frames = (await page.evaluate(() => globalThis.ackclockFrames ?? 0)) - before;
  await session.send('Tracing.end');
  await done;
  session.off('Tracing.dataCollected', take);
  const threads = new Map(events.filter((e) => e.name === 'thread_name').map((e) => [`${e.pid} ${e.tid}`, e.args.name]));
  const main = [...threads].find(([, name]) => name === 'CrRendererMain')?.[0].split(' ')[0];
  const cpu = (name) => events.filter((e) => e.ph === 'X' && e.name.endsWith('RunTask') && String(e.pid) === main && threads.get(`${e.pid} ${e.tid}`) === name).reduce((sum, e) => sum + (e.tdur ?? 0), 0) / 1000;
  console.log(`${what}: ${(frames / SECONDS).toFixed(1)} frames/s; CPU a frame: page ${(cpu('CrRendererMain') / frames).toFixed(1)} ms, worker ${(cpu('DedicatedWorker thread') / frames).toFixed(1)} ms`);
}
// A frame is a drawing of the globe.
await page.evaluate(() => {
  const clear = Object.getOwnPropertyDescriptor(HTMLCanvasElement.prototype, 'height');
  globalThis.ackclockFrames = 0;
  Object.defineProperty(HTMLCanvasElement.prototype, 'height', { ...clear, set(v) { if (this.closest('.globe')) globalThis.ackclockFrames++; clear.set.call(this, v); } });
});
await measure('playing', async () => {
  await page.getByRole('button', { name: 'Play', exact: true }).click();
  await page.waitForTimeout(SECONDS * 1000);
  await page.getByRole('button', { name: 'Pause', exact: true }).click();
});
const box = await page.locator('.globe canvas').boundingBox();
await measure('turning', async () => {
  await page.mouse.move(box.x + 100, box.y + 150);
  await page.mouse.down();
  const end = Date.now() + SECONDS * 1000;
  for (let i = 0; Date.now() < end; i++) await page.mouse.move(box.x + 100 + (i % 300), box.y + 150 + (i % 60));
  await page.mouse.up();
});
await page.screenshot({ path: process.env.SHOT ?? '/tmp/globe.png' });
await browser.close();
