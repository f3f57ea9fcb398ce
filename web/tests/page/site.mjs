/** The site in Chromium, served from a folder: `node tests/page/site.mjs ADDRESS PAGE...`. Prints what axe-core calls serious. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { chromium } from 'playwright-core';

const [address, ...pages] = process.argv.slice(2);
const axe = readFileSync(join(import.meta.dirname, '../../node_modules/axe-core/axe.min.js'), 'utf8');
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
const found = [];
for (const scheme of ['light', 'dark']) {
  const page = await browser.newPage({ viewport: { width: 1440, height: 900 }, colorScheme: scheme });
  for (const name of pages) {
    await page.goto(`${address}/${name}`);
    await page.evaluate(axe);
    const violations = await page.evaluate(async () => (await globalThis.axe.run(document, { resultTypes: ['violations'] })).violations.filter((v) => ['serious', 'critical'].includes(v.impact)).map((v) => `${v.id}: ${v.nodes.length}, such as ${v.nodes[0].target.join(' ')}: ${v.nodes[0].failureSummary?.split('\n')[1]?.trim() ?? ''}`));
    for (const violation of violations) found.push(`${name} (${scheme}): ${violation}`);
  }
  await page.close();
}
await browser.close();
console.log(found.join('\n'));
process.exit(found.length ? 1 : 0);
