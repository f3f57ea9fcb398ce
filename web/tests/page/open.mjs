/** Opens a page in Chromium and says what it shows: `node open.mjs URL [SAVED]`. One JSON object on standard output.
 * With SAVED, a line is printed when the page is ready, and the page is read again after it has reloaded, or with
 * SAVED = problem after it shows a problem. */
import { chromium } from 'playwright-core';

const [url, saved] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
page.setDefaultTimeout(60_000);
const requests = [], errors = [];
page.on('request', (r) => { if (!/^(file|data|blob):/.test(r.url())) requests.push(r.url()); });
page.on('pageerror', (e) => errors.push(e.message));
page.on('console', (m) => { if (m.type() === 'error') errors.push(m.text()); });
const ended = () => page.waitForFunction(() => ['ended', 'error'].includes(document.documentElement.dataset.state));
const look = () => page.evaluate(() => {
  const { state, fingerprint = '' } = document.documentElement.dataset, text = (selector) => document.querySelector(selector)?.innerText ?? '';
  return {
    state, fingerprint, recorded: text('[data-testid=recorded]'), why: text('[aria-label=Cause]'), outcome: text('[aria-label=Outcome]'), problem: text('#ackclock-problem') || text('[role=alert]'),
    panels: [...document.querySelectorAll('[data-panel]')].map((p) => p.dataset.panel), packets: Number(document.querySelector('[data-packets]')?.dataset.packets ?? 0),
  };
});
await page.goto(url);
await ended();
await page.waitForTimeout(300);
const found = [await look()];
if (saved) {
  const change = saved === 'problem' ? page.locator('#ackclock-problem').waitFor() : page.waitForEvent('load');
  console.error('ready');
  await change;
  if (saved !== 'problem') await ended();
  found.push(await look());
} else if (found[0].recorded) {
  // A zoom asks for other curves, a moment of the run for its packets, the table for values.
  await page.locator('.charts').focus();
  await page.keyboard.press('+');
  await page.locator('.axis', { hasText: ' of ' }).waitFor();
  await page.getByRole('button', { name: 'Show values as a table' }).click();
  found[0].table = await page.locator('table.values tbody tr').count();
  found[0].steps = await page.getByRole('button', { name: 'Next packet event' }).isEnabled();
  const falls = page.getByRole('button', { name: /^Last fall/ });
  if (await falls.isEnabled()) {
    await page.locator('.charts').focus();
    await page.keyboard.press('End');
    await falls.click();
    await page.locator('.why, .empty[role=status]').first().waitFor();
    found[0].why = (await look()).why;
    await page.getByRole('button', { name: 'Compare', exact: true }).click();
    await page.locator('section.setup').getByRole('button', { name: 'Compare' }).click();
    await page.locator('[data-testid=differences] tbody tr').first().waitFor();
    found[0].differences = await page.locator('[data-testid=differences]').innerText();
  }
}
const policy = await page.evaluate(() => document.querySelector('meta[http-equiv="Content-Security-Policy"]')?.content ?? '');
console.log(JSON.stringify({ looks: found, requests, errors, policy }));
await browser.close();
