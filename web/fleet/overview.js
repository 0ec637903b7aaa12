// The whole fleet: totals, drivers, causes, the heat map and the table of nodes.
import { html, useState } from './shared/ui.js';
import { HeatMap } from './heat.js';
import { NodeTable } from './nodes.js';
import { Bar, Failure, devices, figures, nodes } from './parts.js';
import { STATES, filtered, go } from './route.js';

const SHORT = 10;  // rows of a collapsed list

function Totals({ summary, route }) {
  const choose = (state) => go(filtered(route, { state: route.filters.state === state ? undefined : state }));
  return html`<section class="card" aria-labelledby="totals">
    <h2 id="totals">${devices(summary.devices)} on ${nodes(summary.nodes)}</h2>
    <${Bar} item=${summary} />
    <div class="tiles" role="group" aria-label="Show only nodes with devices that are">
      ${STATES.map((state) => html`<button key=${state} class="tile"
        aria-pressed=${String(route.filters.state === state)} onClick=${() => choose(state)}>
        <b>${summary[state].toLocaleString('en')}</b>
        <span><svg viewBox="0 0 12 12" aria-hidden="true">
          <rect class=${`fill-${state}`} width="12" height="12" rx="3" /></svg>${state}</span>
      </button>`)}
    </div>
  </section>`;
}

// A list whose entries filter the page: `pick` gives the filters of an entry, `figure` its bar.
function Rows({ id, title, rows, empty, route, pick, name, figure }) {
  const [open, change] = useState(false);
  function choose(filters, chosen) {
    go(filtered(route, chosen
      ? Object.fromEntries(Object.keys(filters).map((filter) => [filter, undefined])) : filters));
  }
  return html`<section class="card" aria-labelledby=${id}>
    <h2 id=${id}>${title}</h2>
    ${rows.length === 0 && html`<p class="empty">${empty}</p>`}
    <ul class="rows">
      ${(open ? rows : rows.slice(0, SHORT)).map((row) => {
        const filters = pick(row);
        const chosen = Object.entries(filters).every(([filter, value]) => route.filters[filter] === value);
        return html`<li key=${JSON.stringify(filters)}>
          <button class="row" aria-pressed=${String(chosen)} onClick=${() => choose(filters, chosen)}>
            <span class="title">${name(row)}</span>
            <span class="side">${devices(row.devices)}, ${nodes(row.nodes)}</span>
          </button>
          ${figure(row)}
        </li>`;
      })}
    </ul>
    ${rows.length > SHORT && html`<button class="small more" aria-expanded=${String(open)}
      onClick=${() => change(!open)}>
      ${open ? 'Show fewer' : `Show all ${rows.length}`}</button>`}
  </section>`;
}

const Drivers = ({ rows, route }) => html`<${Rows} id="drivers" title="Drivers and models" rows=${rows} route=${route}
  pick=${({ driver, model }) => ({ driver, model })}
  name=${(row) => html`<b>${row.model || 'unknown model'}</b> <span class="side">${row.driver}</span>`}
  figure=${(row) => html`<${Bar} item=${row} /><p class="small-text">${figures(row)}</p>`} />`;

function Causes({ rows, route }) {
  const most = Math.max(1, ...rows.map((row) => row.devices));
  return html`<${Rows} id="causes" title="Top causes" rows=${rows} route=${route}
    empty="No device has a taint that keeps pods away."
    pick=${({ cause }) => ({ cause })}
    name=${(row) => html`<b>${row.cause}</b>`}
    figure=${(row) => html`<svg class="share thin" aria-hidden="true"
      viewBox=${`0 0 ${most} 8`} preserveAspectRatio="none">
      <rect class=${row.cause === 'Cordoned' ? 'fill-cordoned' : 'fill-unhealthy'} width=${row.devices} height="8" />
    </svg>`} />`;
}

const Nothing = () => html`<section class="card">
  <h2>No devices</h2>
  <p class="empty">No ResourceSlice of this cluster has devices.
    Install a DRA driver; its devices appear here at once.</p>
</section>`;

export function Overview({ live, route, summary, error, heading }) {
  const empty = summary?.synced && summary.devices === 0;
  return html`
    <h1 tabindex="-1" ref=${heading}>Fleet</h1>
    <${Failure} live=${live} error=${error} />
    ${!summary && !error && html`<p class="empty">Loading the fleet…</p>`}
    ${empty && html`<${Nothing} />`}
    ${summary && !empty && html`
      <${Totals} summary=${summary} route=${route} />
      <${HeatMap} live=${live} route=${route} />
      <div class="grid">
        <${Drivers} rows=${summary.drivers} route=${route} />
        <${Causes} rows=${summary.causes} route=${route} />
      </div>
      <${NodeTable} live=${live} route=${route} summary=${summary} />`}`;
}
