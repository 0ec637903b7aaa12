// One node: its devices with taints, holders and attributes, and its Events.
import { Component, Facts, at, html } from './shared/ui.js';
import { useKept, useSteady } from './fleet_live.js';
import { Badge, Bar, Failure, Pager, devices, figures, nodeTitle } from './parts.js';
import { STATES, go } from './route.js';

const PAGE = 100;

function Taint({ taint }) {
  const { key, value, effect, since, rule } = taint;
  return html`<li><code>${key}${value ? `=${value}` : ''}:${effect}</code>
    ${since && html` <span class="dim">since ${at(since)}</span>`}
    ${rule && html` <span class="dim">by the DeviceTaintRule ${rule}</span>`}</li>`;
}

function Holder({ claim }) {
  const pods = claim.pods ?? [];
  return html`<li><code>${claim.namespace}/${claim.name}</code>
    ${claim.admin && html` <span class="badge plain">admin access</span>`}
    ${pods.length > 0 && html` <span class="dim">
      for ${pods.length === 1 ? 'pod' : 'pods'} ${pods.join(', ')}</span>`}</li>`;
}

const facts = (values) => Object.entries(values ?? {})
  .map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : String(value)]);

// A device is rendered again only if it has changed.
class Device extends Component {
  constructor() {
    super();
    this.state = { open: false };
  }

  shouldComponentUpdate({ device }, { open }) {
    return device !== this.props.device || open !== this.state.open;
  }

  render({ device }, { open }) {
    const attributes = facts(device.attributes);
    const capacity = facts(device.capacity);
    return html`<li class="device">
      <div><h3 class="mono">${device.name}</h3><p>${device.model || html`<span class="dim">unknown model</span>`}</p>
        <p class="dim">${device.driver}${device.pool !== this.props.node && html`, pool ${device.pool}`}</p></div>
      <div><${Badge} state=${device.state} />
        ${device.held && device.state !== 'held' && html` <span class="badge held">held</span>`}
        <ul class="list">
          ${device.taints.map((taint, number) => html`<${Taint} key=${number} taint=${taint} />`)}</ul></div>
      <div>${device.claims.length === 0 && html`<span class="dim">no claim</span>`}
        <ul class="list">
          ${device.claims.map((claim) => html`<${Holder} key=${`${claim.namespace}/${claim.name}`}
            claim=${claim} />`)}</ul></div>
      <div class="action">${attributes.length + capacity.length > 0 && html`<button
        class="small" aria-expanded=${String(open)} onClick=${() => this.setState({ open: !open })}>
        Attributes<span class="hidden"> of ${device.name} of ${device.driver}</span></button>`}</div>
      ${open && html`<div class="attributes"><${Facts} facts=${attributes} />
        ${capacity.length > 0 && html`<h4>Capacity</h4><${Facts} facts=${capacity} />`}</div>`}
    </li>`;
  }
}

function Events({ events }) {
  return html`<section class="card" aria-labelledby="events">
    <h2 id="events">Events</h2>
    ${events.length === 0 && html`<p class="empty">No recent Events. The API server keeps them for an hour.</p>`}
    ${events.length > 0 && html`<ul class="events">
      ${events.map((event, number) => html`<li key=${number}>
        <span class="dim">${at(event.time)}</span>
        <span><span class=${`badge ${event.type === 'Warning' ? 'warn' : ''}`}>${event.reason}</span>
          ${event.count > 1 && html` <span class="dim">${event.count} times</span>`}</span>
        <p>${event.message}</p>
      </li>`)}
    </ul>`}
  </section>`;
}

// Behind the API server's proxy the page of a node has the origin of this page. Elsewhere it takes a command.
const PROXIED = /^(.*)\/api\/v1\/namespaces\/[^/]+\/(?:pods|services)\/[^/]+\/proxy\//;

function OwnPage({ page }) {
  const proxied = PROXIED.exec(location.pathname);
  if (proxied && page.path)
    return html`<a class="end" href=${location.origin + proxied[1] + page.path}>Open the page of this node</a>`;
  return html`<p>For the page of this node, run <code>${page.command}</code> and open ${' '}
    <a href=${page.address} rel="noopener" target="_blank"><code>${page.address}</code></a></p>`;
}

function totals(list) {
  const sums = Object.fromEntries(STATES.map((state) =>
    [state, list.filter((device) => device.state === state).length]));
  return { ...sums, devices: list.length };
}

export function NodeView({ live, route, back, heading }) {
  const name = route.node;
  const { value: node, error, waiting } = useSteady(live,
    `nodes/${encodeURIComponent(name)}?offset=${route.offset}&limit=${PAGE}`);
  const known = useKept(node?.devices);
  const whole = node && node.total === node.devices.length;
  return html`
    <div class="head">
      <h1 tabindex="-1" ref=${heading}>${nodeTitle(name)}</h1>
      ${node?.page && html`<${OwnPage} page=${node.page} />`}
    </div>
    ${error?.status === 404 && html`<section class="card"><h2>No devices</h2>
      <p class="empty">No ResourceSlice has devices of this node.
        Its drivers may be restarting, or the node is gone.</p>
      <p><a href=${back}>Back to the overview</a></p></section>`}
    <${Failure} live=${live} error=${error?.status === 404 ? undefined : error} />
    ${!node && !error && html`<p class="empty">Loading the node…</p>`}
    ${node && error?.status !== 404 && html`
      <section class="card" aria-labelledby="devices">
        <div class="head"><h2 id="devices">${devices(node.total)}</h2>
          ${whole && html`<span class="dim">${figures(totals(node.devices))}</span>`}</div>
        ${whole && html`<${Bar} item=${totals(node.devices)} />`}
        <ul class="devices" aria-busy=${String(waiting)}>
          ${known.map((device) => html`<${Device} key=${`${device.driver}/${device.pool}/${device.name}`}
            device=${device} node=${name} />`)}
        </ul>
        <${Pager} label="Pages of devices" total=${node.total} offset=${node.offset} size=${PAGE}
          shown=${node.devices.length}
          move=${(offset) => go({ node: name, offset })} />
      </section>
      <${Events} events=${node.events ?? []} />`}`;
}
