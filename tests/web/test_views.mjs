// Every view of the page of a node, with the real daemon and server.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { after, before, describe, test } from 'node:test';
import { Node, assertAccessible, assertFits, close, launch, open, source, until } from './harness.mjs';
import { row, visit, waitForText } from './page.mjs';

describe('the views', () => {
  let browser;
  let node;
  let page;
  const claim = path.join(source, 'config/demo-claim.json');

  before(async () => {
    browser = await launch();
    node = await Node.start('partitions = 2');
    page = await open(browser, (await node.serve('--allow-actions')).url);
  });
  after(async () => {
    await close(page);
    await browser.close();
    await node.stop();
  });

  test('the node has its name, conditions, modules and drivers', async () => {
    await page.getByRole('heading', { level: 1, name: 'demo' }).waitFor();
    await page.getByText('embedded').first().waitFor();
    await waitForText(page.getByRole('region', { name: 'List of modules' }), 'mock');
    await waitForText(page.getByRole('region', { name: 'Drivers and resources' }), 'gpu.mock.cardcage.dev');
    assert.match(await page.title(), /^Node · demo$/);
  });

  test('devices are grouped by NUMA node, and partitions follow their device', async () => {
    const names = await page.locator('table.devices tr td:first-child').allInnerTexts();
    assert.deepEqual(names.slice(0, 4), ['fpga-0', 'gpu-0', 'gpu-0-part-0', 'gpu-0-part-1']);
    const groups = await page.locator('table.devices th[scope=rowgroup]').allInnerTexts();
    assert.deepEqual(groups, ['NUMA 0 · 8 devices', 'NUMA 1 · 8 devices']);
  });

  test('filters and the search narrow the list', async () => {
    await page.getByRole('searchbox', { name: 'Search devices' }).fill('fpga');
    await until('two devices are left', async () => (await page.locator('table.devices td:first-child').count()) === 2);
    await page.getByRole('searchbox', { name: 'Search devices' }).fill('');
    await page.getByRole('button', { name: /^Held/ }).click();
    await page.getByText('No device matches.').waitFor();
    await page.getByRole('button', { name: /^All/ }).click();
  });

  test('health is shown as it changes', async () => {
    const begin = Date.now();
    node.script('health gpu-3 ok cause=Temperature value=97.5 Hot the fan has stopped');
    await waitForText(row(page, 'gpu-3'), 'degraded');
    console.log(`a change of health was on the page after ${Date.now() - begin} ms`);
    await waitForText(row(page, 'gpu-3'), 'the fan has stopped');
    await waitForText(row(page, 'gpu-3-part-0'), 'degraded');
    assert.match(await page.title(), /^\(3\)/);
    node.script('health gpu-3 ok cause=Temperature value=80');
    await waitForText(row(page, 'gpu-3'), 'healthy');
  });

  test('a device has its causes with value, limit and rule', async () => {
    node.script('health gpu-2 ok cause=Temperature value=98.5 Hot the fan has stopped');
    await visit(page, '#/devices/mock/gpu-2');
    const causes = page.getByRole('region', { name: 'Health', exact: true });
    for (const text of ['Temperature', '98.5 °C', 'limit ≥ 95 °C, good again at 90 °C', 'Hot: the fan has stopped',
      'the hottest sensor'])
      await waitForText(causes, text);
    await waitForText(page.getByRole('region', { name: 'Attributes and capacity' }), 'Mockwell');
    await waitForText(page.getByRole('region', { name: 'About' }), 'gpu-2-part-0');
    node.script('health gpu-2 ok cause=Temperature value=80');
    await waitForText(page.getByRole('region', { name: 'Events of the device' }), 'ended');
  });

  test('the timeline has a lane for each cause and for holders', async () => {
    const timeline = page.getByRole('region', { name: 'Timeline' });
    await until('the lane of the cause has a span',
      async () => (await timeline.locator('svg[aria-label^="Temperature: began"] rect').count()) > 0);
    await timeline.locator('svg[aria-label="holder: nothing"]').waitFor();
    await timeline.getByRole('button', { name: '24 h' }).click();
    await until('the range changes', async () => (await timeline.getByRole('button',
      { name: '24 h' }).getAttribute('aria-pressed')) === 'true');
  });

  test('a claim is shown while it holds its devices, and in the history', async () => {
    fs.copyFileSync(claim, node.path('node/claims/default_demo.json'));
    await visit(page, '#/devices/mock/gpu-1');
    assert.equal((await node.cagectl('prepare', '--cdi-dir', node.path('cdi'), claim)).code, 0);
    await page.getByText('Held by default/demo').waitFor();
    await page.locator('svg[aria-label^="holder: default/demo"] rect').waitFor();
    await visit(page, '#/claims');
    await waitForText(page.getByRole('region', { name: 'Claims' }), 'default/demo');
    assert.equal((await node.cagectl('unprepare', claim)).code, 0);
    await page.getByText('No claim and no pod holds a device.').waitFor();
    await waitForText(page.getByRole('region', { name: 'Released devices' }).getByRole('row').nth(1), 'default/demo');
  });

  test('modules show their options, permissions and catalogue', async () => {
    await visit(page, '#/modules');
    await waitForText(page.getByRole('region', { name: 'Catalogue' }), 'aes-256');
    await page.getByText('Options', { exact: true }).click();
    await waitForText(page.getByRole('region', { name: 'Options' }), 'kinds of devices and the number of each');
    await page.getByText('Permissions', { exact: true }).click();
    await page.getByText('Confined by').waitFor();
  });

  test('a refused configuration is shown with its errors, until it is corrected', async () => {
    const file = node.path('cardcage.toml');
    const good = fs.readFileSync(file, 'utf8');
    await visit(page, '#/configuration');
    await waitForText(page.getByRole('region', { name: 'Rules of module mock' }), 'the hottest sensor');
    fs.writeFileSync(file, good.replace('[node]', '[nodes]'));
    await node.cagectl('reload');
    await page.getByText("unknown key 'nodes'").waitFor();
    await page.getByText('refused', { exact: true }).waitFor();
    fs.writeFileSync(file, good);
    await node.cagectl('reload');
    await page.getByText('applied', { exact: true }).waitFor();
    assert.equal(await page.getByText("unknown key 'nodes'").count(), 0);
  });

  for (const scheme of ['light', 'dark']) {
    for (const width of [1200, 400]) {
      test(`every view is accessible and fits, ${scheme}, ${width} px wide`, async () => {
        await page.emulateMedia({ colorScheme: scheme });
        await page.setViewportSize({ width, height: 900 });
        for (const [hash, text] of [['#/', 'Served to the kubelet'], ['#/devices/mock/gpu-2',
          'Attributes and capacity'], ['#/claims', 'Released'],
          ['#/modules', 'aes-256'], ['#/configuration', 'the hottest sensor']]) {
          await visit(page, hash);
          await page.getByText(text).first().waitFor();
          await assertAccessible(page);
          await assertFits(page);
        }
        const back = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
        assert.equal(back, scheme === 'light' ? 'rgb(245, 246, 248)' : 'rgb(17, 21, 26)');
      });
    }
  }
});
