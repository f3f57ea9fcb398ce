/** Milliseconds from opening pages to their first chart and to the end of the first run: `node tests/page/first.mjs PAGE...`, in turns. */
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const files = process.argv.slice(2), times = files.map(() => []);
for (let turn = 0; turn < Number(process.env.TURNS ?? 5); turn++) for (const [i, file] of files.entries()) {
  const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
  await page.goto(pathToFileURL(file).href);
  await page.waitForSelector('[data-panel=cwnd] canvas', { timeout: 60_000 });
  const chart = await page.evaluate(() => performance.now());
  await page.waitForFunction(() => document.documentElement.dataset.state === 'ended');
  times[i].push([chart, await page.evaluate(() => performance.now())]);
  await browser.close();
}
const middle = (list) => Math.round(list.toSorted((a, b) => a - b)[list.length >> 1]);
files.forEach((file, i) => console.log(`${file}: first chart ${middle(times[i].map((t) => t[0]))} ms, end ${middle(times[i].map((t) => t[1]))} ms; ${times[i].map((t) => t.map(Math.round).join('/')).join(' ')}`));
