// The commands of an operator, with mouse and keyboard.
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { Node, assertAccessible, close, launch, open, until } from './harness.mjs';
import { command, row, visit, waitForText } from './page.mjs';

describe('the commands', () => {
  let browser;
  let node;
  let page;

  before(async () => {
    browser = await launch();
    node = await Node.start();
    page = await open(browser, (await node.serve('--allow-actions')).url);
  });
  after(async () => {
    // A refused command is a response with an error status, which Chromium reports.
    await close(page, /^Failed to load resource: the server responded with a status of [45]\d\d/);
    await browser.close();
    await node.stop();
  });

  const button = (name) => page.getByRole('button', { name, exact: true });
  const events = () => page.getByRole('region', { name: 'Events of the device' });

  test('cordon and uncordon', async () => {
    await visit(page, '#/devices/mock/nic-1');
    await command(page, button('Cordon…'), 'loose cable');
    await page.getByText(/^Cordoned by .*: loose cable/).waitFor();
    await page.getByText("device 'nic-1' is cordoned", { exact: false }).first().waitFor();
    const cordoned = (await node.json('devices')).find((device) => device.name === 'nic-1').cordon;
    assert.equal(cordoned.reason, 'loose cable');
    await visit(page, '#/');
    await waitForText(row(page, 'nic-1'), 'cordoned');
    await visit(page, '#/devices/mock/nic-1');
    await command(page, button('Uncordon…'), 'plugged in again');
    await button('Cordon…').waitFor();
    await waitForText(events(), 'plugged in again');
  });

  test('clear a cause that only an operator ends', async () => {
    node.script('health fpga-1 bad cause=Broken Voltage rail 3 is out of range');
    await visit(page, '#/devices/mock/fpga-1');
    const cause = page.locator('.causes li', { hasText: 'Broken' });
    await waitForText(cause, 'unhealthy');
    node.script('health fpga-1 ok cause=Broken');
    await command(page, cause.getByRole('button', { name: 'Clear…' }), 'rail replaced');
    await waitForText(events(), 'rail replaced');
    await waitForText(page.locator('.causes li', { hasText: 'Broken' }), 'healthy');
  });

  test('reset a device', async () => {
    node.script('health gpu-1 ok cause=Temperature value=99 Hot');
    await visit(page, '#/devices/mock/gpu-1');
    await waitForText(page.locator('.causes li', { hasText: 'Temperature' }), 'degraded');
    await command(page, button('Reset…'), 'fan replaced');
    await waitForText(events(), 'reset');
    await waitForText(page.locator('.causes li', { hasText: 'Temperature' }), 'healthy');
  });

  test('a refused command says why, and can be given up', async () => {
    node.script('fail reset gpu-2 the firmware does not answer');
    await visit(page, '#/devices/mock/gpu-2');
    await button('Reset…').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('try');
    await dialog.getByRole('button', { name: 'Reset', exact: true }).click();
    await waitForText(dialog.getByRole('alert'), 'the firmware does not answer');
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
  });

  test('quiesce and resume a module', async () => {
    await visit(page, '#/modules');
    await command(page, button('Quiesce…'), 'driver update');
    await page.getByText('quiesced', { exact: true }).waitFor();
    await command(page, button('Resume…'), 'driver updated');
    await page.getByText('ready', { exact: true }).waitFor();
  });

  test('the keyboard alone is enough', async () => {
    await visit(page, '#/modules');
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Modules' }).waitFor();
    await page.keyboard.press('Tab');
    assert.equal(await page.evaluate(() => document.activeElement.textContent), 'Skip to the content');
    await page.keyboard.press('Enter');
    await headingHasFocus('Modules');
    await tabTo('Node', 'Shift+Tab');
    await page.keyboard.press('Enter');
    await headingHasFocus('demo');
    await tabTo('gpu-0');
    await page.keyboard.press('Enter');
    await headingHasFocus('gpu-0');
    await tabTo('Cordon…');
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog');
    await dialog.waitFor();
    await assertAccessible(page);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
    await until('the focus returns', () => page.evaluate(() => document.activeElement.textContent === 'Cordon…'));
    await page.keyboard.press('Enter');
    await dialog.waitFor();
    await page.keyboard.type('noisy fan');
    await page.keyboard.press('Enter');
    await page.getByText(/^Cordoned by .*: noisy fan/).waitFor();
  });

  // Each view begins at its heading.
  const headingHasFocus = (text) => until(`the heading '${text}' has the focus`, () =>
    page.evaluate((wanted) => document.activeElement.tagName === 'H1' && document.activeElement.textContent === wanted, text));

  // Moves the focus until it is on the link or button, and sees that the focus is visible.
  async function tabTo(text, key = 'Tab') {
    for (let presses = 0; presses < 40; ++presses) {
      await page.keyboard.press(key);
      const [focused, outline] = await page.evaluate(() => [document.activeElement.textContent,
        getComputedStyle(document.activeElement).outlineStyle]);
      assert.notEqual(outline, 'none', `the focus on '${focused}' is not visible`);
      if (focused === text) return;
    }
    assert.fail(`the keyboard does not reach '${text}'`);
  }
});
