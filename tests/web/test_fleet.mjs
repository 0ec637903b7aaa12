// Every view of the page of the fleet, its filters, its keys and its accessibility.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Fleet } from './fleet.mjs';
import { assertAccessible, assertFits, close, launch, open, until } from './harness.mjs';
import { visit, waitForText } from './page.mjs';

const NODES = 120;
const PAGE = 50;

const names = (page) => page.locator('table.nodes tbody th').allInnerTexts();
const waitForNodes = (page, text) =>
  waitForText(page.getByRole('region', { name: 'Nodes', exact: true }).getByRole('status'), text);
const slider = (page) => page.getByRole('slider', { name: 'Node in the heat map' });

describe('the views of the fleet', () => {
  let browser;
  let fleet;
  let page;

  before(async () => {
    browser = await launch();
    fleet = await Fleet.start({ nodes: NODES, drivers: 3 });
    page = await open(browser, (await fleet.serve()).url);
    await waitForNodes(page, `${NODES} nodes`);
  });
  after(async () => {
    await close(page, /status of 404/);  // a node without devices
    await browser.close();
    await fleet.stop();
  });

  const overview = async (hash = '#/') => {
    await visit(page, hash);
    await page.getByRole('heading', { level: 1, name: 'Fleet' }).waitFor();
  };
  const figure = async (state) =>
    Number((await page.locator('.tile', { hasText: state }).locator('b').innerText()).replaceAll(',', ''));

  test('totals add up', async () => {
    await page.getByRole('heading', { name: `2,880 devices on ${NODES} nodes` }).waitFor();
    const states = await Promise.all(['free', 'held', 'unhealthy', 'cordoned'].map(figure));
    assert.equal(states.reduce((sum, number) => sum + number), 2880);
    assert.ok(states.every((number) => number > 0), `${states}`);
    await until('the title names the view', async () => (await page.title()).startsWith('Fleet'));
  });

  test('drivers of every vendor have a bar for each model, which filters nodes and heat map', async () => {
    const drivers = page.getByRole('region', { name: 'Drivers and models' });
    for (const text of ['NVIDIA H200', 'gpu.nvidia.com', 'Acme A1', 'npu.acme.dev', 'ConnectX-7', 'nic.cardcage.dev'])
      await waitForText(drivers, text);
    assert.match(await drivers.getByRole('img').first().getAttribute('aria-label'), /\d+ held, \d+ free/);
    await drivers.getByRole('button', { name: /Acme A2/ }).click();
    await waitForNodes(page, `60 nodes of ${NODES}`);
    await until('the heat map shows the nodes of the model', async () =>
      (await slider(page).getAttribute('aria-valuemax')) === '60');
    await drivers.getByRole('button', { name: /Acme A2/, pressed: true }).click();
    await waitForNodes(page, `${NODES} nodes`);
    assert.doesNotMatch(page.url(), /model/);
  });

  test('a cause filters the nodes that have it', async () => {
    const button = page.getByRole('region', { name: 'Top causes' }).getByRole('button').first();
    const [, nodes] = (await button.innerText()).match(/(\d+) nodes?$/m);
    await button.click();
    await waitForNodes(page, `${nodes} node`);
    assert.equal((await names(page)).length, Number(nodes));
    await page.getByRole('button', { name: /, remove this filter/ }).click();
    await waitForNodes(page, `${NODES} nodes`);
  });

  test('a state filters by the tiles and by the list', async () => {
    await page.locator('.tile', { hasText: 'cordoned' }).click();
    await until('the list shows the state', async () =>
      (await page.getByRole('combobox', { name: 'State' }).inputValue()) === 'cordoned');
    await until('only nodes with cordoned devices are left', async () =>
      (await page.locator('table.nodes tbody td.cordoned').allInnerTexts()).every((text) => Number(text) > 0));
    await page.getByRole('combobox', { name: 'State' }).selectOption('');
    await waitForNodes(page, `${NODES} nodes`);
  });

  test('the search narrows the list, and the address keeps it', async () => {
    await page.getByRole('searchbox', { name: 'Search nodes' }).fill('RACK002');
    await waitForNodes(page, `8 nodes of ${NODES}`);
    await page.reload();
    await waitForNodes(page, `8 nodes of ${NODES}`);
    assert.equal(await page.getByRole('searchbox', { name: 'Search nodes' }).inputValue(), 'RACK002');
    await page.getByRole('searchbox', { name: 'Search nodes' }).fill('nothing');
    await page.getByText('No node matches these filters.').waitFor();
    await page.getByRole('button', { name: 'Clear filters' }).click();
    await waitForNodes(page, `${NODES} nodes`);
    await until('the search is empty', async () =>
      (await page.getByRole('searchbox', { name: 'Search nodes' }).inputValue()) === '');
  });

  test('columns sort, with the largest figures first', async () => {
    await page.getByRole('button', { name: 'Held', exact: true }).click();
    await page.locator('th[aria-sort=descending]', { hasText: 'Held' }).waitFor();
    const held = async () => (await page.locator('table.nodes tbody td.held').allInnerTexts()).map(Number);
    await until('the table is sorted', async () => {
      const figures = await held();
      return figures.length === PAGE && figures[0] > figures.at(-1)
        && figures.every((number, i) => i === 0 || number <= figures[i - 1]);
    });
    await page.getByRole('button', { name: /^Node/ }).click();
    await until('names sort numbers by value', async () => (await names(page))[0] === 'rack001-node1');
  });

  test('the server pages the table', async () => {
    const pages = page.getByRole('navigation', { name: 'Pages of nodes' });
    await pages.getByText(`1 to ${PAGE} of ${NODES}`).waitFor();
    await pages.getByRole('button', { name: 'Next' }).click();
    await pages.getByText(`51 to 100 of ${NODES}`).waitFor();
    assert.equal((await names(page)).length, PAGE);
    await pages.getByRole('button', { name: 'Last' }).click();
    await pages.getByText(`101 to ${NODES} of ${NODES}`).waitFor();
    assert.ok(await pages.getByRole('button', { name: 'Next' }).isDisabled());
    await page.goBack();
    await pages.getByText(`51 to 100 of ${NODES}`).waitFor();
    await visit(page, '#/?offset=5000');
    await pages.getByText(`101 to ${NODES} of ${NODES}`).waitFor();
    await overview();
  });

  test('arrow keys move through the heat map, and Enter opens the node', async () => {
    await slider(page).focus();
    assert.match(await slider(page).getAttribute('aria-valuetext'), /^rack001-node1: .*24 devices$/);
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('ArrowRight');
    await until('the third node is named', async () =>
      /^rack001-node3: /.test(await slider(page).getAttribute('aria-valuetext')));
    await page.keyboard.press('End');
    await until('the last node is named', async () =>
      (await slider(page).getAttribute('aria-valuenow')) === `${NODES}`);
    await page.keyboard.press('Home');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'rack001-node1' }).waitFor();
    await until('the heading has the focus', () => page.evaluate(() => document.activeElement.tagName === 'H1'));
    await page.goBack();
    await slider(page).click({ position: { x: 5, y: 5 } });
    await page.getByRole('heading', { level: 1, name: 'rack001-node1' }).waitFor();
    await page.getByRole('link', { name: 'Overview' }).click();
  });

  test('the heat map is also a text', async () => {
    await overview();
    const text = await page.locator('#heat-text').innerText();
    const parts = [...text.matchAll(/(\d+) (?!nodes)/g)].map(([, number]) => Number(number));
    assert.match(text, /^120 nodes: \d+ with unhealthy devices, /);
    assert.equal(parts.reduce((sum, number) => sum + number), NODES);
  });

  test('a node has its devices with taints, holders, attributes and Events', async () => {
    await fleet.taint('rack001-node2', 'gpu.nvidia.com', 'gpu-7', 'Odd', 'NoExecute');
    await fleet.addEvent('rack001-node2', 'DeviceUnhealthy', 'gpu-7 is unhealthy: odd');
    const held = (await fleet.api('GET', '/apis/resource.k8s.io/v1/resourceclaims')).items[0];
    const [{ pool }] = held.status.allocation.devices.results;
    await visit(page, '#/nodes/rack001-node2');
    const devices = page.locator('.device');
    await page.getByRole('heading', { name: '24 devices' }).waitFor();
    const sick = devices.filter({ has: page.getByRole('heading', { name: 'gpu-7' }) });
    for (const text of ['unhealthy', 'gpu.nvidia.com/unhealthy=Odd:NoExecute', '2030-01-02 03:04:05'])
      await waitForText(sick, text);
    await sick.getByRole('button', { name: /^Attributes/ }).click();
    for (const text of ['productName', 'resource.kubernetes.io/pciBusID', '80Gi']) await waitForText(sick, text);
    await waitForText(page.getByRole('region', { name: 'Events' }), 'gpu-7 is unhealthy: odd');
    await waitForText(page.getByRole('region', { name: 'Events' }), '3 times');
    await visit(page, `#/nodes/${pool}`);
    await waitForText(page.locator('main'), `${held.metadata.namespace}/${held.metadata.name}`);
    await waitForText(page.locator('main'), held.status.reservedFor[0].name);
    await until('the title names the node', async () => (await page.title()).startsWith(`${pool} `));
    await fleet.heal('rack001-node2', 'gpu.nvidia.com', 'gpu-7');
  });

  test('a node leads to its own page in the way that works here', async () => {
    const way = { path: '/api/v1/namespaces/cardcage/pods/https:web-1:8443/proxy/',
      command: 'kubectl -n cardcage port-forward web-1 8444:8443', address: 'https://127.0.0.1:8444/' };
    const withWay = async (route) => {
      const response = await route.fetch();
      await route.fulfill({ response, json: { ...await response.json(), page: way } });
    };
    await page.route('**/api/v1/nodes/rack001-node3?*', withWay);
    await visit(page, '#/nodes/rack001-node3');
    await page.getByText(way.command).waitFor();
    assert.equal(await page.getByRole('link', { name: way.address }).getAttribute('href'), way.address);
    await page.unroute('**/api/v1/nodes/rack001-node3?*', withWay);
    await visit(page, '#/nodes/rack001-node4');
    await page.getByRole('heading', { level: 1, name: 'rack001-node4' }).waitFor();
    assert.equal(await page.getByText('kubectl').count(), 0);
  });

  test('behind the proxy of the API server a node has a link to its page', async () => {
    const proxy = '/prefix/api/v1/namespaces/cardcage/services/https:cardcage-fleet:https/proxy';
    const link = '/api/v1/namespaces/cardcage/pods/https:web-1:8443/proxy/';
    const other = await page.context().newPage();
    await other.route(`**${proxy}/**`, async (route) => {
      const url = route.request().url().replace(proxy, '');
      if (url.endsWith('/watch')) return route.abort();
      const response = await route.fetch({ url });
      if (!url.includes('/api/v1/nodes/rack001-node3')) return route.fulfill({ response });
      return route.fulfill({ response,
        json: { ...await response.json(), page: { path: link, command: 'kubectl proxy', address: 'http://127.0.0.1/' } } });
    });
    const { origin } = new URL(page.url());
    await other.goto(`${origin}${proxy}/#/nodes/rack001-node3`);
    const way = other.getByRole('link', { name: 'Open the page of this node' });
    await way.waitFor();
    assert.equal(await way.getAttribute('href'), `${origin}/prefix${link}`);
    await other.close();
  });

  test('a node that has no devices says so, and leads back', async () => {
    await visit(page, '#/nodes/elsewhere');
    await page.getByText('No ResourceSlice has devices of this node.').waitFor();
    await page.getByRole('link', { name: 'Back to the overview' }).click();
    await waitForNodes(page, `${NODES} nodes`);
  });

  test('the page works with the keyboard alone', async () => {
    await overview();
    await page.reload();  // the keys begin at the top
    await waitForNodes(page, `${NODES} nodes`);
    const focused = () => page.evaluate(() => {
      const element = document.activeElement;
      return element.getAttribute('aria-label') ?? element.textContent ?? element.tagName;
    });
    await page.keyboard.press('Tab');
    assert.equal(await focused(), 'Skip to the content');
    await page.keyboard.press('Enter');
    await until('the content has the focus', () => page.evaluate(() => document.activeElement.id === 'main'));
    await page.keyboard.press('Tab');
    assert.match(await focused(), /unhealthy$/);
    await page.keyboard.press('Enter');
    await waitForNodes(page, `of ${NODES}`);
    assert.match(page.url(), /state=unhealthy/);
    const seen = [];
    for (let i = 0; i < 40 && !seen.at(-1)?.startsWith('rack'); ++i) {
      await page.keyboard.press('Tab');
      seen.push(await focused());
    }
    assert.ok(seen.includes('Node in the heat map'), `${seen}`);
    assert.match(seen.at(-1), /^rack/);
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: seen.at(-1) }).waitFor();
    await overview();
  });

  for (const scheme of ['light', 'dark']) {
    for (const width of [1200, 400]) {
      test(`the page is accessible and fits, ${scheme}, ${width} px wide`, async () => {
        await page.emulateMedia({ colorScheme: scheme });
        await page.setViewportSize({ width, height: 900 });
        await overview('#/?state=unhealthy&query=rack');
        await waitForNodes(page, `of ${NODES}`);
        await assertFits(page);
        await assertAccessible(page);
        await visit(page, '#/nodes/rack001-node1');
        await page.getByRole('button', { name: /^Attributes/ }).first().click();
        await assertFits(page);
        await assertAccessible(page);
      });
    }
  }
});
