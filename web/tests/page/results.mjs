/** Pages of results in Chromium, from disk: `node tests/page/results.mjs FILE...`. Prints what tests/test_pages.py checks, as JSON. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { chromium } from 'playwright-core';

const axe = readFileSync(join(import.meta.dirname, '../../node_modules/axe-core/axe.min.js'), 'utf8');
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });

/** The text and the links that the first screen shows. */
function firstScreen() {
  const inside = (rect) => rect.width > 1 && rect.height > 1 && rect.top < innerHeight && rect.bottom > 0;
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  const texts = [];
  for (let node = walker.nextNode(); node; node = walker.nextNode()) {
    const range = document.createRange();
    range.selectNodeContents(node);
    if (node.data.trim() && !node.parentElement.closest('script, style, .vh') && inside(range.getBoundingClientRect())) texts.push(node.data.trim());
  }
  const links = [...document.links].filter((link) => inside(link.getBoundingClientRect())).map((link) => link.getAttribute('href'));
  return { text: texts.join(' '), links };
}

const measured = [];
for (const file of process.argv.slice(2)) {
  for (const [scheme, width, height] of [['light', 1440, 900], ['dark', 1440, 900], ['light', 390, 844]]) {
    const page = await browser.newPage({ viewport: { width, height }, colorScheme: scheme });
    const requests = [];
    page.on('request', (request) => requests.push(request.url()));
    await page.goto(pathToFileURL(file).href);
    const first = await page.evaluate(firstScreen);
    const length = await page.evaluate(() => document.documentElement.scrollHeight);
    await page.evaluate(() => document.querySelectorAll('details').forEach((element) => (element.open = true)));
    const scrolls = await page.evaluate(() => document.documentElement.scrollWidth);
    await page.evaluate(axe);
    const violations = await page.evaluate(async () =>
      (await globalThis.axe.run(document, { resultTypes: ['violations'] })).violations.map((v) => `${v.impact} ${v.id}: ${v.nodes.length}, such as ${v.nodes[0].target.join(' ')}: ${v.nodes[0].failureSummary?.split('\n')[1]?.trim() ?? ''}`));
    measured.push({ file, scheme, width, length, scrolls, violations, first, requests: requests.slice(1) });
    await page.close();
  }
}
await browser.close();
console.log(JSON.stringify(measured));
