// Makes the pictures of the page of the fleet: CARDCAGE_UPDATE=1 tools/test web.
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { Fleet } from './fleet.mjs';
import { close, launch, open, source, until } from './harness.mjs';

const LARGEST = 150 * 1024;

test('the pictures of the fleet', async () => {
  const browser = await launch();
  const fleet = await Fleet.start({ nodes: 200, drivers: 3 });
  for (const scheme of ['light', 'dark']) {
    const page = await open(browser, (await fleet.serve()).url, { width: 1120, height: 860, scheme });
    await page.getByText('1 to 50 of 200').waitFor();
    await page.getByText('live', { exact: true }).waitFor();
    const file = path.join(source, `docs/pictures/fleet-${scheme}.png`);
    await page.screenshot({ path: file });
    execFileSync('pngquant', ['--force', '--ext', '.png', '--strip', file]);
    await until(`${file} is small`, () => execFileSync('stat', ['-c', '%s', file]) <= LARGEST);
    await close(page);
  }
  await browser.close();
  await fleet.stop();
});
