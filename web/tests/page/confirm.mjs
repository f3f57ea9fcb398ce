/** Opens a link with a controller in JavaScript, and confirms it: `node confirm.mjs URL`. One JSON object: what the page shows
 * before, and the state of the run after. */
import { chromium } from 'playwright-core';

const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium', args: ['--no-sandbox', '--disable-gpu'] });
const page = await browser.newPage({ viewport: { width: 1440, height: 900 } });
page.setDefaultTimeout(60_000);
await page.goto(process.argv[2]);
const button = page.getByRole('button', { name: 'Run this code' });
await button.waitFor({ state: 'attached' });
await page.waitForTimeout(1_000);
const state = () => page.evaluate(() => document.documentElement.dataset.state ?? '');
const before = await state();
await button.click();
await page.waitForFunction(() => ['ended', 'error'].includes(document.documentElement.dataset.state));
console.log(JSON.stringify({ before, after: await state(), alert: await page.getByText('This link holds code').count() }));
await browser.close();
