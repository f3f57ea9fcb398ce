/** The longest tasks of the page while runs compute, CPU milliseconds: `node tests/page/tasks.mjs PAGE`. */
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
await page.goto(pathToFileURL(process.argv[2]).href);
const ended = () => page.waitForFunction(() => document.documentElement.dataset.state === 'ended', undefined, { timeout: 300_000 });
await ended();
const session = await page.context().newCDPSession(page);
const events = [];
session.on('Tracing.dataCollected', ({ value }) => events.push(...value));
for (const set of process.argv.slice(3).length ? process.argv.slice(3) : ['dumbbell', 'bbr_cubic', 'incast']) {
  events.length = 0;
  const done = new Promise((resolve) => session.once('Tracing.tracingComplete', resolve));
  await session.send('Tracing.start', { categories: 'devtools.timeline,toplevel,v8.execute', transferMode: 'ReportEvents' });
  await page.locator('.pick select').selectOption(set);
  await page.waitForTimeout(300);
  await ended();
  await page.waitForTimeout(500);
  await session.send('Tracing.end');
  await done;
  const main = events.find((e) => e.name === 'thread_name' && e.args.name === 'CrRendererMain');
  const own = events.filter((e) => e.ph === 'X' && e.pid === main.pid && e.tid === main.tid);
  const tasks = own.filter((e) => e.name.endsWith('RunTask')).sort((a, b) => (b.tdur ?? 0) - (a.tdur ?? 0)).slice(0, 4);
  console.log(set);
  for (const t of tasks) {
    const parts = own.filter((e) => e !== t && e.ts >= t.ts && e.ts + e.dur <= t.ts + t.dur && e.dur > 5000).sort((a, b) => b.dur - a.dur).slice(0, 6);
    console.log(`  ${((t.tdur ?? 0) / 1000).toFixed(0)} ms CPU, ${(t.dur / 1000).toFixed(0)} ms: ${parts.map((e) => `${e.name} ${((e.tdur ?? e.dur) / 1000).toFixed(0)}${e.args?.data?.functionName ? ` (${e.args.data.functionName})` : ''}`).join(', ')}`);
  }
}
await browser.close();
