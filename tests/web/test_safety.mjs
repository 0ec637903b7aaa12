// Texts that look like markup, sessions, a daemon and a server that go away, and a thousand devices.
import assert from 'node:assert/strict';
import fs from 'node:fs';
import { after, before, describe, test } from 'node:test';
import { Node, close, launch, open, until } from './harness.mjs';
import { row, visit, waitForRow, waitForText } from './page.mjs';

const MARKUP = '<script>alert(1)</script>';
const NETWORK = /^Failed to load resource|net::ERR_/;

describe('safety', () => {
  let browser;
  let node;

  before(async () => {
    browser = await launch();
    node = await Node.start(`gpu_model = "${MARKUP}"`);
  });
  after(async () => {
    await browser.close();
    await node.stop();
  });

  test('texts of modules, operators and claims are never markup', async () => {
    const page = await open(browser, (await node.serve('--allow-actions')).url);
    node.script(`health gpu-1 bad Odd <img src=x onerror=alert(2)>${MARKUP}`);
    await node.cagectl('device', 'cordon', 'gpu-2', '--reason', MARKUP);
    await waitForText(row(page, 'gpu-1'), MARKUP);
    await visit(page, '#/devices/mock/gpu-2');
    await waitForText(page.getByRole('region', { name: 'Attributes and capacity' }), MARKUP);
    await waitForText(page.getByRole('region', { name: 'Events of the device' }), MARKUP);
    assert.equal(await page.locator('main script, main img').count(), 0);
    await close(page);
    node.script('health gpu-1 ok');
  });

  test('a device may be called like markup', async () => {
    const { url } = await node.serve('--allow-actions');
    const page = await open(browser, 'about:blank');
    await page.route('**/api/v1/devices', async (route) => {
      const response = await route.fetch();
      const devices = await response.json();
      Object.assign(devices[0], { name: MARKUP, id: `"'/${MARKUP}` });
      await route.fulfill({ response, json: devices });
    });
    await page.goto(url);
    await page.getByRole('link', { name: MARKUP }).click();
    await page.getByRole('heading', { level: 1, name: MARKUP }).waitFor();
    assert.equal(await page.locator('main script').count(), 0);
    await page.unrouteAll({ behavior: 'wait' });
    await close(page, NETWORK);  // the server has no events of such a device
  });

  test('an address is used once, and only its browser gets in', async () => {
    const { url } = await node.serve();
    const page = await open(browser, url);
    await page.getByRole('heading', { level: 1, name: 'demo' }).waitFor();
    assert.doesNotMatch(page.url(), /token/);
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'demo' }).waitFor();
    const other = await open(browser, url);
    assert.match(await other.locator('body').innerText(), /cagectl web/);
    const response = await other.request.get(new URL('/api/v1/devices', url).href);
    assert.ok([401, 403].includes(response.status()), `${response.status()}`);
    await close(other, NETWORK);
    await close(page);
  });

  test('without --allow-actions the page has no commands', async () => {
    const page = await open(browser, (await node.serve()).url);
    await page.getByText('read-only').waitFor();
    await visit(page, '#/devices/mock/gpu-0');
    await page.getByRole('heading', { level: 1, name: 'gpu-0' }).waitFor();
    assert.equal(await page.getByRole('button', { name: /…$/ }).count(), 0);
    const status = await page.evaluate(async () => (await fetch('api/v1/actions/cordon', {
      method: 'POST', headers: { 'Content-Type': 'application/json', 'X-Cardcage-Request': '1' },
        body: '{"device":"gpu-0","reason":"x"}',
    })).status);
    assert.ok(status >= 400 && status < 500, `${status}`);
    await close(page, NETWORK);
  });

  test('the page says that the daemon is away, and continues when it is back', async () => {
    const page = await open(browser, (await node.serve()).url);
    await waitForText(row(page, 'gpu-0'), 'healthy');
    await node.daemon.halt();
    await page.getByText('daemon away').waitFor();
    await page.getByText('The daemon does not respond.').waitFor();
    await node.boot();
    await page.getByText('live', { exact: true }).waitFor();
    node.script('health gpu-0 degraded Slow');
    await waitForText(row(page, 'gpu-0'), 'degraded');
    await close(page, NETWORK);
    node.script('health gpu-0 ok');
  });

  test('the page says that its server has ended', async () => {
    const server = await node.serve();
    const page = await open(browser, server.url);
    await page.getByText('live', { exact: true }).waitFor();
    await server.halt();
    await page.getByText('disconnected').waitFor();
    await close(page, NETWORK);
  });
});

// Returns a function for the seconds that the thread of the page has run.
async function processorTime(page) {
  const session = await page.context().newCDPSession(page);
  await session.send('Performance.enable', { timeDomain: 'threadTicks' });
  return async () => {
    const { metrics } = await session.send('Performance.getMetrics');
    return metrics.find(({ name }) => name === 'ThreadTime').value;
  };
}

// The private memory of a process and its children, in KiB.
function privateMemory(pid) {
  const own = Number(fs.readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8').match(/^Pss_Anon: +(\d+)/m)[1]);
  const children = fs.readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').split(' ').filter(Boolean);
  return own + children.reduce((sum, child) => sum + privateMemory(child), 0);
}

test('a page of a thousand devices costs the daemon little memory', async () => {
  const browser = await launch();
  const node = await Node.start('devices = ["gpu:1000"]');
  await until('all are listed', async () => (await node.json('devices')).length === 1000);
  let before = Infinity;
  for (let i = 0; i < 40; ++i) {  // the list itself needs memory for a moment
    before = Math.min(before, privateMemory(node.daemon.pid));
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  const page = await open(browser, (await node.serve()).url);
  await page.waitForFunction(() => document.querySelectorAll('table.devices td:first-child').length === 1000);
  node.script('health gpu-999 degraded Slow');
  await waitForRow(page, 'gpu-999', 'degraded');
  const { more } = await until('the daemon has returned what it needed for a moment', () => {
    const now = privateMemory(node.daemon.pid) - before;
    return now <= 1024 && { more: now };
  });
  console.log(`an open page with 1,000 devices costs the daemon ${more} KiB (limit on a quiet machine: 512)`);
  await close(page);
  await browser.close();
  await node.stop();
});

test('a thousand devices are on the page at once', async () => {
  const browser = await launch();
  const node = await Node.start('devices = ["gpu:1000"]');
  await until('all are listed', async () => (await node.json('devices')).length === 1000);
  const page = await open(browser, (await node.serve()).url);
  await page.waitForFunction(() => document.querySelectorAll('table.devices td:first-child').length === 1000);
  const cost = await processorTime(page);
  let least = { wall: Infinity, processor: Infinity };
  for (let i = 0; i < 3; ++i) {
    const before = await cost();
    await page.reload({ waitUntil: 'commit' });
    await page.waitForFunction(() => document.querySelectorAll('table.devices td:first-child').length === 1000);
    const wall = await page.evaluate(() => new Promise((resolve) => {
      requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
    }));
    const processor = 1000 * ((await cost()) - before);
    least = { wall: Math.min(least.wall, Math.round(wall)), processor: Math.min(least.processor,
      Math.round(processor)) };
  }
  console.log(`1,000 devices were on the page after ${least.wall} ms (limit on a quiet machine: 1000 ms), with `
    + `${least.processor} ms of processor time`);
  // A busy machine makes the page wait for the processor.
  assert.ok(least.processor <= 3000, `1,000 devices took ${least.processor} ms of processor time`);
  const begin = Date.now();
  node.script('health gpu-999 degraded Slow');
  await waitForRow(page, 'gpu-999', 'degraded');
  console.log(`a change among 1,000 devices was on the page after ${Date.now() - begin} ms`);
  await close(page);
  await browser.close();
  await node.stop();
});
