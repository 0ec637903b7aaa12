// Makes the pictures of the documentation: CARDCAGE_UPDATE=1 tools/test web.
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import { test } from 'node:test';
import { Node, close, launch, open, source, until } from './harness.mjs';
import { row, visit, waitForText } from './page.mjs';

const LARGEST = 150 * 1024;

const before = (minutes) => new Date(Date.now() - minutes * 60000).toISOString();

// A new daemon has no past to show: adds an hour of it.
async function addPast(page) {
  const event = (minutes, kind, cause, state, rest) => ({ time: before(minutes), kind, device: 'gpu-3', id: 'gpu-3',
    module: 'mock', cause, state,
    reason: '', message: '', by: '', ...rest });
  const held = (name, from, to) => ({ claim: { namespace: 'research', name, uid: name },
    driver: 'gpu.mock.cardcage.dev', module: 'mock',
    request: 'gpu', pool: 'demo', device: 'gpu-3', shareID: '', heldSeconds: 60 * (from - to), prepared: before(from),
      released: before(to) });
  await page.route(/health-events.*device=gpu-3/, async (route) => {
    const response = await route.fetch();
    const body = await response.json();
    body.events.push(
      event(14, 'uncordoned', '', '', { by: 'alice', message: 'fan replaced' }),
      event(16, 'reset', '', '', { by: 'alice', message: 'fan replaced' }),
      event(16, 'ended', 'Temperature', 'healthy'),
      event(22, 'cordoned', '', '', { by: 'alice', message: 'replace the fan' }),
      event(27, 'began', 'Temperature', 'degraded', { reason: 'Hot', message: 'the fan is slow' }),
      event(41, 'ended', 'Xid', 'healthy'),
      event(44, 'began', 'Xid', 'unhealthy', { reason: 'XidError', message: 'Xid 63: row remapping' }));
    await route.fulfill({ response, json: body });
  });
  await page.route(/history.*device=gpu-3/, (route) => route.fulfill({ json: [held('train-7b', 12, 2),
    held('train-7b-warmup', 57, 46)] }));
}

test('the pictures of the documentation', async () => {
  const browser = await launch();
  const node = await Node.start('partitions = 2');
  const claim = path.join(source, 'config/demo-claim.json');
  execFileSync('cp', [claim, node.path('node/claims/default_demo.json')]);
  for (const command of ['prepare', 'unprepare', 'prepare']) await node.cagectl(command, '--cdi-dir',
    node.path('cdi'), claim);
  node.script('health gpu-3 ok cause=Temperature value=97.5 Hot the fan has stopped');
  node.script('health fpga-1 bad cause=Broken Voltage rail 3 is out of range');
  await node.cagectl('device', 'cordon', 'nic-1', '--reason', 'loose cable');
  for (const [name, hash, scheme] of [['node-light', '#/', 'light'], ['node-dark', '#/', 'dark'], ['device',
    '#/devices/mock/gpu-3', 'light']]) {
    const page = await open(browser, 'about:blank', { width: 1120, height: 860, scheme });
    await addPast(page);
    await page.goto((await node.serve('--allow-actions')).url);
    await waitForText(row(page, 'nic-1'), 'cordoned');
    await visit(page, hash);
    if (name === 'device') await page.getByRole('region', { name: 'Events of the device' }).waitFor();
    const file = path.join(source, `docs/pictures/${name}.png`);
    await page.screenshot({ path: file });
    execFileSync('pngquant', ['--force', '--ext', '.png', '--strip', file]);
    await until(`${file} is small`, () => execFileSync('stat', ['-c', '%s', file]) <= LARGEST);
    await page.unrouteAll({ behavior: 'wait' });
    await close(page);
  }
  await browser.close();
  await node.stop();
});
