// The table of nodes: filters, search and pages, which are all in the address and all done by the server.
import { Component, html, useEffect, useRef, useState } from './shared/ui.js';
import { useKept, useSteady } from './fleet_live.js';
import { Badge, Bar, Failure, Pager, nodeTitle, nodes } from './parts.js';
import { STATES, filtered, format, go } from './route.js';

const PAGE = 50;
const SEARCH_PAUSE = 200;  // ms after the last letter
const COLUMNS = [
  ['devices', 'Devices'],
  ['unhealthy', 'Unhealthy'],
  ['cordoned', 'Cordoned', 'wide'],
  ['held', 'Held', 'wide'],
  ['free', 'Free', 'wide'],
];

// A row is rendered again only if its node has changed.
class Row extends Component {
  shouldComponentUpdate({ node }) {
    return node !== this.props.node;
  }

  render({ node }) {
    return html`<tr>
      <th scope="row"><a href=${format({ node: node.name })}>${nodeTitle(node.name)}</a></th>
      <td class="wide"><${Badge} state=${node.worst} /></td>
      <td class="bar-cell"><${Bar} item=${node} /></td>
      ${COLUMNS.map(([name, , hide = '']) => html`<td key=${name}
        class=${`number ${hide} ${name} ${node[name] > 0 ? 'some' : ''}`}>${node[name]}</td>`)}
    </tr>`;
  }
}

function Heading({ name, label, hide, route }) {
  const down = route.sort === `-${name}`;
  const up = route.sort === name;
  // Sort figures from the largest, names from A.
  const next = name === 'name' ? (up ? '-name' : 'name') : down ? name : `-${name}`;
  return html`<th scope="col" class=${name === 'name' ? 'name' : `number ${hide ?? ''}`}
    aria-sort=${up ? 'ascending' : down ? 'descending' : undefined}>
    <button class="sort" onClick=${() => go({ ...route, sort: next, offset: 0 })}>
      ${label}<span aria-hidden="true">${up ? ' ↑' : down ? ' ↓' : ''}</span></button>
  </th>`;
}

function Search({ route }) {
  const query = route.filters.query ?? '';
  const [text, change] = useState(query);
  const latest = useRef();
  latest.current = route;
  const timer = useRef();
  // The address wins, for example after "back", unless typed letters are about to change it.
  useEffect(() => {
    if (timer.current === undefined) change(query);
  }, [query]);
  function type(event) {
    const value = event.currentTarget.value;
    change(value);
    clearTimeout(timer.current);
    timer.current = setTimeout(() => {
      timer.current = undefined;
      go(filtered(latest.current, { query: value.trim() || undefined }), true);
    }, SEARCH_PAUSE);
  }
  useEffect(() => () => clearTimeout(timer.current), []);
  return html`<label class="search"><span class="hidden">Search nodes by name</span>
    <input type="search" placeholder="Search nodes" maxlength="253" value=${text} onInput=${type} /></label>`;
}

function Select({ label, every, options, value, choose }) {
  const known = options.includes(value) || value === undefined ? options : [value, ...options];
  return html`<label><span class="hidden">${label}</span>
    <select value=${value ?? ''} onChange=${(event) => choose(event.currentTarget.value || undefined)}>
      <option value="">${every}</option>
      ${known.map((option) => html`<option key=${option} value=${option}>${option}</option>`)}
    </select></label>`;
}

function Chips({ route }) {
  const chips = Object.entries(route.filters);
  if (chips.length === 0) return null;
  return html`<ul class="chips" aria-label="Filters">
    ${chips.map(([name, value]) => html`<li key=${name}>
      <button class="small chip" onClick=${() => go(filtered(route, { [name]: undefined }))}>
        <span class="dim">${name === 'query' ? 'name' : name}</span> ${value || 'unknown'}${' '}
        <span aria-hidden="true">✕</span><span class="hidden">, remove this filter</span>
      </button></li>`)}
    <li><button class="small" onClick=${() => go({ ...route, filters: {}, offset: 0 })}>Clear filters</button></li>
  </ul>`;
}

function path({ filters, sort, offset }) {
  const values = new URLSearchParams(filters);
  values.set('sort', sort);
  values.set('offset', offset);
  values.set('limit', PAGE);
  return `nodes?${values}`;
}

export function NodeTable({ live, route, summary }) {
  const { value: page, error, waiting } = useSteady(live, path(route));
  const rows = useKept(page?.nodes);
  // The fleet has shrunk, and the page in the address no longer exists.
  const beyond = page && !waiting && page.nodes.length === 0 && page.total > 0;
  useEffect(() => {
    if (beyond) go({ ...route, offset: Math.floor((page.total - 1) / PAGE) * PAGE }, true);
  }, [beyond]);
  const drivers = [...new Set(summary.drivers.map((row) => row.driver))];
  const narrowed = Object.keys(route.filters).length > 0;
  return html`<section class="card" aria-labelledby="nodes">
    <div class="head">
      <h2 id="nodes">Nodes</h2>
      <span class="dim" role="status">
        ${page && !waiting && [nodes(page.total), narrowed && ` of ${summary.nodes.toLocaleString('en')}`]}</span>
      <span class="end filters">
        <${Search} route=${route} />
        <${Select} label="Driver" every="All drivers" options=${drivers} value=${route.filters.driver}
          choose=${(driver) => go(filtered(route, { driver, model: undefined }))} />
        <${Select} label="State" every="All states" options=${STATES} value=${route.filters.state}
          choose=${(state) => go(filtered(route, { state }))} />
      </span>
    </div>
    <${Chips} route=${route} />
    <${Failure} live=${live} error=${error} />
    ${!error && page && rows.length === 0 && !beyond && html`<p
      class="empty">${narrowed ? 'No node matches these filters.' : 'No node has devices.'}</p>`}
    ${rows.length > 0 && html`<div class="scroll" tabindex="0" role="group" aria-labelledby="nodes">
      <table class="nodes" aria-busy=${String(waiting)} aria-labelledby="nodes">
        <thead><tr>
          <${Heading} name="name" label="Node" route=${route} />
          <th scope="col" class="wide state">Worst</th>
          <th scope="col" class="bar-cell"><span class="hidden">Shares</span></th>
          ${COLUMNS.map(([name, label, hide]) => html`<${Heading} key=${name}
            name=${name} label=${label} hide=${hide} route=${route} />`)}
        </tr></thead>
        <tbody>${rows.map((node) => html`<${Row} key=${node.name} node=${node} />`)}</tbody>
      </table>
    </div>
    <${Pager} label="Pages of nodes" total=${page.total} offset=${page.offset} size=${PAGE} shown=${rows.length}
      move=${(offset) => go({ ...route, offset })} />`}
  </section>`;
}
