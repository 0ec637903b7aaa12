// A simulated cluster behind an API server, and the server of the fleet's page.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import https from 'node:https';
import path from 'node:path';
import { build, source, until } from './harness.mjs';

const TOKEN = 'token-of-the-simulation';
const SLICES = '/apis/resource.k8s.io/v1/resourceslices';

// Starts a program, and waits for a line of its output.
async function start(program, args, pattern) {
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'] });
  child.ended = new Promise((resolve) => child.on('exit', resolve));
  child.text = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (data) => (child.text += data));
  child.halt = () => {
    child.kill('SIGTERM');
    return child.ended;
  };
  await until(`${path.basename(program)} prints ${pattern}`, () => {
    child.found = child.text.match(pattern);
    return child.found || (child.exitCode !== null && assert.fail(child.text));
  });
  return child;
}

export class Fleet {
  // The cluster changes only by the methods below.
  static async start(options = {}) {
    const fleet = new Fleet();
    fleet.folder = fs.mkdtempSync('/tmp/cardcage-web.');
    fleet.options = options;
    fleet.servers = [];
    await fleet.boot();
    return fleet;
  }

  async boot() {
    const { nodes = 24, drivers = 3 } = this.options;
    const args = ['-B', path.join(source, 'sim/fleet/api_server.py'), this.folder, '--pace', '0',
      '--nodes', nodes, '--drivers', drivers,
      '--port', this.port ?? 0];
    this.cluster = await start('python3', args.map(String), /^serving .* at https:\/\/127\.0\.0\.1:(\d+)/m);
    this.port = Number(this.cluster.found[1]);  // also after a restart
  }

  // Starts another server of the page: an address admits one browser.
  async serve() {
    const args = ['--kubeconfig', path.join(this.folder, 'kubeconfig'), '--listen', '127.0.0.1:0'];
    const server = await start(path.join(build, 'bin/cardcage-fleet'), args, /https?:\/\/\S+/);
    [server.url] = server.found;
    this.servers.push(server);
    return server;
  }

  async stop() {
    for (const server of this.servers) await server.halt();
    await this.cluster.halt();
    fs.rmSync(this.folder, { recursive: true });
  }

  // A call of the API server.
  api(method, where, body) {
    const ca = fs.readFileSync(path.join(this.folder, 'api-server.pem'));
    const options = { method, host: '127.0.0.1', port: this.port, path: where, ca, agent: false,
      headers: { Authorization: `Bearer ${TOKEN}` } };
    if (body !== undefined) options.headers['Content-Length'] = Buffer.byteLength(JSON.stringify(body));
    return new Promise((resolve, reject) => {
      const request = https.request(options, (response) => {
        let text = '';
        response.on('data', (data) => (text += data));
        response.on('end', () => (response.statusCode < 300 ? resolve(JSON.parse(text)) : reject(new Error(text))));
      });
      request.on('error', reject);
      request.end(body === undefined ? undefined : JSON.stringify(body));
    });
  }

  async slices() {
    return (await this.api('GET', SLICES)).items;
  }

  // Changes a device in its slice: change(node, driver, device, (device) => …).
  async change(node, driver, device, edit) {
    const where = `${SLICES}/00000-${driver}-${node}`;
    const slice = await this.api('GET', where);
    edit(slice.spec.devices.find((each) => each.name === device));
    await this.api('PUT', where, slice);
  }

  taint(node, driver, device, value, effect = 'NoSchedule') {
    const taint = { key: `${driver}/unhealthy`, value, effect, timeAdded: '2030-01-02T03:04:05Z' };
    return this.change(node, driver, device, (found) => (found.taints = [...(found.taints ?? []), taint]));
  }

  heal(node, driver, device) {
    return this.change(node, driver, device, (found) => delete found.taints);
  }

  addEvent(node, reason, message, time = '2030-01-02T03:04:05Z') {
    const name = `${node}.${Math.random().toString(16).slice(2)}`;
    return this.api('POST', '/api/v1/namespaces/default/events', {
      apiVersion: 'v1', kind: 'Event', metadata: { name, namespace: 'default' },
        involvedObject: { apiVersion: 'v1', kind: 'Node', name: node, uid: node },
      type: 'Warning', reason, message, firstTimestamp: time, lastTimestamp: time, count: 3,
    });
  }

  addClaim(name, driver, node, device) {
    return this.api('POST', '/apis/resource.k8s.io/v1/namespaces/tests/resourceclaims', {
      apiVersion: 'resource.k8s.io/v1', kind: 'ResourceClaim', metadata: { name, namespace: 'tests', uid: name },
        spec: { devices: {} },
      status: { allocation: { devices: { results: [{ request: 'r', driver, pool: node, device }] } },
        reservedFor: [{ resource: 'pods', name: `${name}-pod`, uid: name }] },
    });
  }

  removeClaim(name) {
    return this.api('DELETE', `/apis/resource.k8s.io/v1/namespaces/tests/resourceclaims/${name}`);
  }

  // A device of the driver that has no claim and no taint.
  async freeDevice(driver) {
    const claims = (await this.api('GET', '/apis/resource.k8s.io/v1/resourceclaims')).items;
    const rules = (await this.api('GET', '/apis/resource.k8s.io/v1/devicetaintrules')).items;
    const results = claims.flatMap((claim) => claim.status.allocation.devices.results);
    const used = new Set([...results, ...rules.map((rule) => rule.spec.deviceSelector)]
      .map((each) => `${each.driver}/${each.pool}/${each.device}`));
    for (const { spec } of await this.slices())
      for (const device of spec.devices)
        if (spec.driver === driver && !device.taints && !used.has(`${driver}/${spec.nodeName}/${device.name}`))
          return { node: spec.nodeName, device: device.name };
    return assert.fail(`no device of ${driver} is free`);
  }
}
