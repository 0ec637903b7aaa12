// Makes the pictures of the documentation: CARDCAGE_UPDATE=1 tools/test web.
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { Node, close, launch, open, source, until } from './harness.mjs';
import { row, visit, waitForText } from './page.mjs';

const LARGEST = 150 * 1024;

test('the pictures of the documentation', async () => {
  const browser = await launch();
  const node = await Node.start('partitions = 2');
  const claim = path.join(source, 'config/demo-claim.json');
  execFileSync('cp', [claim, node.path('node/claims/default_demo.json')]);
  for (const command of ['prepare', 'unprepare', 'prepare']) await node.cagectl(command, '--cdi-dir', node.path('cdi'), claim);
  node.script('health gpu-3 ok cause=Temperature value=97.5 Hot the fan has stopped');
  node.script('health fpga-1 bad cause=Broken Voltage rail 3 is out of range');
  await node.cagectl('device', 'cordon', 'nic-1', '--reason', 'loose cable');
  for (const [name, hash, scheme] of [['node-light', '#/', 'light'], ['node-dark', '#/', 'dark'], ['device', '#/devices/mock/gpu-3', 'light']]) {
    const page = await open(browser, (await node.serve('--allow-actions')).url, { width: 1120, height: 860, scheme });
    await waitForText(row(page, 'nic-1'), 'cordoned');
    await visit(page, hash);
    if (name === 'device') await page.getByRole('region', { name: 'Events of the device' }).waitFor();
    const file = path.join(source, `docs/pictures/${name}.png`);
    await page.screenshot({ path: file });
    execFileSync('pngquant', ['--force', '--ext', '.png', '--strip', file]);
    await until(`${file} is small`, () => execFileSync('stat', ['-c', '%s', file]) <= LARGEST);
    await close(page);
  }
  await browser.close();
  await node.stop();
});
