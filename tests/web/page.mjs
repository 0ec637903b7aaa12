// Finds things on the page of a node, and uses them.
import { until } from './harness.mjs';

// By the link's address: a query by role takes seconds among a thousand rows.
export const row = (page, device) => page.locator(`tr:has(> td > a[href="#/devices/mock/${device}"])`);

export async function waitForText(locator, text) {
  await until(`"${text}" is shown`, async () => (await locator.innerText()).includes(text));
}

// Waits until the row of a device in the list shows a text. Among a thousand rows a locator takes seconds for each look.
export const waitForRow = (page, device, text) => page.waitForFunction(([href, wanted]) => (
  document.querySelector(`table.devices a[href="${href}"]`)?.closest('tr').innerText.includes(wanted)),
[`#/devices/mock/${device}`, text]);

export const visit = (page, hash) => page.evaluate((where) => (location.hash = where), hash);

// Gives a command with its dialog.
export async function command(page, button, reason) {
  await button.click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill(reason);
  await dialog.locator('button.primary').click();
  await dialog.waitFor({ state: 'detached' });
}
