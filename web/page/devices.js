// All devices of the node, by NUMA node, PCIe root or switch, device and partition.
import { Card, Choice, Component, Search, count, html, tone, useMemo, useState } from './shared/ui.js';
import { DeviceLink, HealthBadges, holderText, idOf, needsCare } from './common.js';

const FILTERS = {
  All: () => true,
  'Need care': needsCare,
  Cordoned: (device) => device.cordon,
  Held: (device) => device.claims.length,
  Free: (device) => device.driver && !device.claims.length && !needsCare(device) && !device.cordon,
};

const compare = (a, b) => a.localeCompare(b, 'en', { numeric: true });

function placeOf({ numaNodes, attributes }) {
  const root = attributes['resource.kubernetes.io/pcieRoot'];
  const above = attributes['cardcage.dev/pcieSwitch'];
  return [numaNodes.length ? `NUMA ${numaNodes.join(', ')}` : 'No NUMA node', root && `PCIe root ${root}`,
    above && `switch ${above}`]
    .filter(Boolean).join(' · ');
}

// Returns [place, [[device, depth]]]: a device comes before its partitions, unless a filter hides it.
function groups(devices) {
  const children = new Map();
  const places = new Map();
  const ids = new Set(devices.map(idOf));
  for (const device of [...devices].sort((a, b) => compare(a.name, b.name))) {
    const parent = `${device.module}/${device.parent}`;
    const [map, key] = device.parent && ids.has(parent) ? [children, parent] : [places, placeOf(device)];
    if (!map.has(key)) map.set(key, []);
    map.get(key).push(device);
  }
  const withParts = (device, depth) => [[device, depth],
    ...(children.get(idOf(device)) ?? []).flatMap((part) => withParts(part, depth + 1))];
  return [...places].sort(([a], [b]) => compare(a, b))
    .map(([place, list]) => [place, list.flatMap((device) => withParts(device, 0))]);
}

// Rendered again only if its device changed: Live keeps equal objects.
class Row extends Component {
  shouldComponentUpdate(next) {
    return next.device !== this.props.device;
  }

  render({ device, depth }) {
    const { reason, message } = device.health;
    return html`<tr>
      <td class=${depth ? 'part' : ''}><${DeviceLink} device=${device} /></td>
      <td class="wide">${device.kind}</td>
      <td><${HealthBadges} device=${device} /> <span class="dim">${message || reason}</span></td>
      <td>${device.claims.map(holderText).join(', ') || '–'}</td>
      <td class="wide">${device.driver || 'not served'}</td>
      <td class="wide mono">${device.pciBusID}</td>
    </tr>`;
  }
}

// The health of all devices as one bar.
function Shares({ devices }) {
  let x = 0;
  return html`<svg class="shares" aria-hidden="true">${['good', 'warn', 'bad', 'idle'].map((each) => {
    const width = (100 * devices.filter(({ health }) => tone(health.level) === each).length) / devices.length;
    x += width;
    return html`<rect class=${each} x=${`${x - width}%`} width=${`${width}%`} height="100%" />`;
  })}</svg>`;
}

const textOf = (device) => [device.name, device.id, device.kind, device.driver, device.pciBusID, device.health.state,
  device.health.reason,
  ...device.claims.map(holderText), ...Object.values(device.attributes)].join(' ').toLowerCase();

export function Devices({ devices }) {
  const [filter, setFilter] = useState('All');
  const [text, setText] = useState('');
  const grouped = useMemo(() => {
    const words = text.toLowerCase().split(/\s+/);
    return groups(devices.filter((device) => FILTERS[filter](device) && words.every((word) => (
      !word || textOf(device).includes(word)))));
  }, [devices, filter, text]);
  const choices = Object.entries(FILTERS).map(([name, test]) => [name,
    html`${name} <b>${devices.filter(test).length}</b>`]);
  return html`<${Card} title="Devices" head=${html`<${Choice} label="Show" choices=${choices} value=${filter}
    set=${setFilter} />
    <${Search} label="Search devices" text=${text} set=${setText} />`}>
    <${Shares} devices=${devices} />
    ${grouped.length === 0 ? html`<p class="empty">${
      devices.length ? 'No device matches.' : 'The modules list no devices.'}</p>`
      : html`<table class="devices">
      <thead><tr><th class="name">Device</th><th class="kind wide">Kind</th><th class="health">Health</th>
        <th class="held">Held by</th>
        <th class="driver wide">Driver or resource</th><th class="pci wide">PCI address</th></tr></thead>
      ${grouped.map(([place, rows]) => html`<tbody key=${place}>
        <tr><th colspan="6" scope="rowgroup">${place} <span
          class="dim">· ${count(rows.length, 'device')}</span></th></tr>
        ${rows.map(([device, depth]) => html`<${Row} key=${idOf(device)} device=${device} depth=${depth} />`)}
      </tbody>`)}
    </table>`}
  <//>`;
}
