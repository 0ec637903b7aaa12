// A browser that fails a test for any error on a page, a daemon on an embedded node, and the server of its page.
import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';

// Generous: the machines that run the tests may be busy.
export const LIMIT = 60000;

export const source = path.resolve(import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname), '../..');
export const build = process.env.CARDCAGE_BUILD ?? path.join(source, 'build/release');
const modules = createRequire(`${process.env.CARDCAGE_WEB_MODULES}/node_modules/`);
const { chromium } = modules('playwright-core');
const axeSource = fs.readFileSync(modules.resolve('axe-core/axe.min.js'), 'utf8');

const program = (name) => path.join(build, 'bin', name);

// Repeats until the function returns something true; fails after LIMIT with what it saw last.
export async function until(what, look) {
  const end = Date.now() + LIMIT;
  let seen;
  for (;;) {
    try {
      seen = await look();
      if (seen) return seen;
    } catch (error) {
      seen = error;
    }
    if (Date.now() > end) assert.fail(`${what} within ${LIMIT / 1000} s; last: ${seen}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

// Chromium refuses to run as root with its sandbox.
export const launch = () => chromium.launch({ executablePath: '/usr/bin/chromium',
  args: process.getuid() === 0 ? ['--no-sandbox'] : [] });

// Opens a page in a context of its own; `problems` collects errors and violations of the content security policy. A
// colour in the middle of a transition can lack the contrast that both of its ends have: pages have none here.
export async function open(browser, url, { width = 1200, height = 900, scheme = 'light' } = {}) {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: scheme, timezoneId: 'UTC',
    reducedMotion: 'reduce' });
  context.setDefaultTimeout(LIMIT);
  const page = await context.newPage();
  page.problems = [];
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && page.problems.push(message.text()));
  page.on('pageerror', (error) => page.problems.push(error.stack));
  page.on('dialog', (dialog) => {
    page.problems.push(`a script opened a dialog: ${dialog.message()}`);
    dialog.dismiss();
  });
  await page.goto(url);
  return page;
}

// Closes the page of a test, which must have had no errors but those that the test expects.
export async function close(page, expected = /^$/) {
  await page.context().close();
  assert.deepEqual(page.problems.filter((problem) => !expected.test(problem)), []);
}

export async function assertAccessible(page) {
  await page.evaluate(axeSource);
  const { violations } = await page.evaluate(() => globalThis.axe.run(document));
  assert.deepEqual(violations.map(({ id,
    nodes }) => `${id}: ${nodes.map((node) => `${node.html} ${node.failureSummary}`).join(' | ')}`), []);
}

// No part of the page is wider than the window, and nothing is cut off.
export async function assertFits(page) {
  const wide = await page.evaluate(() => {
    const width = document.documentElement.clientWidth;
    const tooWide = (element) => element.getBoundingClientRect().right > width + 1
      && !element.closest('.scroll, .log, .hidden, svg');
    return [...document.querySelectorAll('body *')].filter(tooWide).map((element) => element.outerHTML.slice(0, 120));
  });
  assert.deepEqual(wide, []);
}

// Ends what a failed test left.
const processes = new Set();
process.on('exit', () => processes.forEach((each) => each.kill('SIGKILL')));
function run(name, args, stdio) {
  const started = spawn(program(name), args, { stdio });
  processes.add(started);
  started.ended = new Promise((resolve) => started.on('exit', resolve)).then(() => processes.delete(started));
  started.halt = () => {
    started.kill('SIGTERM');
    return started.ended;
  };
  return started;
}

// The daemon with the mock module; `options` are lines of TOML for the module.
export class Node {
  static async start(options = '') {
    const node = new Node();
    // A socket path holds at most 107 bytes.
    node.folder = fs.mkdtempSync('/tmp/cardcage-web.');
    for (const name of ['modules', 'node/claims', 'kubelet']) fs.mkdirSync(path.join(node.folder, name),
      { recursive: true, mode: 0o755 });
    fs.chmodSync(node.folder, 0o755);
    fs.copyFileSync(path.join(build, 'lib/cardcage/modules/libcardcage_mock.so'),
      node.path('modules/libcardcage_mock.so'));
    fs.writeFileSync(node.path('script'), '');
    const config = fs.readFileSync(path.join(source, 'config/demo.toml'), 'utf8').replaceAll('$CARDCAGE_DEMO_DIR',
      node.folder);
    fs.writeFileSync(node.path('cardcage.toml'), config.replace(/script_file = .*\n/, '')
      .replace('[module.options]', `[module.options]\nscript_file = "${node.path('script')}"\n${options}`)
      .concat('\n[metrics]\nlisten = ""\n'));
    await node.boot();
    return node;
  }

  path(name) {
    return path.join(this.folder, name);
  }

  async boot() {
    const log = fs.openSync(this.path('log'), 'a');
    this.daemon = run('cardcage', ['--config', this.path('cardcage.toml')], ['ignore', log, log]);
    fs.closeSync(log);
    await until('the daemon lists devices', async () => (await this.json('devices')).length > 0);
  }

  // Appends a line to the script of the mock module, which executes it at once.
  script(line) {
    fs.appendFileSync(this.path('script'), `${line}\n`);
  }

  cagectl(...args) {
    const environment = { ...process.env, CARDCAGE_KUBELET_ROOT: this.path('kubelet') };
    return new Promise((resolve) => {
      execFile(program('cagectl'), ['--socket', this.path('admin.sock'), ...args], { env: environment,
        maxBuffer: 1 << 28 },
        (error, stdout, stderr) => resolve({ code: error ? error.code : 0, stdout, stderr }));
    });
  }

  async json(...args) {
    return JSON.parse((await this.cagectl('--json', ...args)).stdout);
  }

  // Starts the server of the page, and returns it with the address that it prints.
  async serve(...args) {
    const server = run('cagectl', ['--socket', this.path('admin.sock'), 'web', ...args], ['ignore', 'pipe', 'pipe']);
    server.text = '';
    for (const stream of [server.stdout, server.stderr]) stream.on('data', (data) => (server.text += data));
    await until('the server prints its address', () => {
      server.url = server.text.match(/https?:\/\/\S+/)?.[0];
      return server.url || (server.exitCode !== null && assert.fail(server.text));
    });
    (this.servers ??= []).push(server);
    return server;
  }

  async stop() {
    for (const server of this.servers ?? []) await server.halt();
    await this.daemon.halt();
    fs.rmSync(this.folder, { recursive: true });
  }
}
