// Claims and pods that hold devices now, and the devices that they gave back.
import { Badge, Card, Loaded, Search, Table, at, code, commas, duration, html, useLive,
  useState } from './shared/ui.js';
import { DeviceLink, holderText } from './common.js';

const LEVELS = { prepared: 'good', 'earlier-boot': 'bad' };

const link = (devices, driver, name) => html`<${DeviceLink} name=${name}
  device=${devices?.find((device) => device.name === name && device.driver === driver)} />`;

// A claim without a name is a device of a resource, which pods hold.
const who = ({ claim, holders }) => (claim.name ? holderText(claim)
  : holders.map(({ pod, namespace, container }) => (
    pod ? `${namespace}/${pod} (${container})` : 'a pod')).join(', ') || 'a pod');

const Current = ({ claims, devices }) => html`<${Card} title="Now"><${Table} label="Claims"
  none="No claim and no pod holds a device."
  heads="Claim or pod|Devices|State|Driver or resource|Prepared|UID or id" rows=${claims.map((claim) => [
    who(claim), commas(claim.devices.map(({ device }) => link(devices, claim.driver, device))),
    html`<${Badge} level=${LEVELS[claim.state] ?? 'in progress'}>${claim.state}<//> ${
      [claim.progress, ...claim.services.map((service) =>
        `service ${service.name}: ${service.state}`)].filter(Boolean).join('; ')}`,
    claim.driver, at(claim.prepared), code(claim.claim.uid)])} /><//>`;

function Past({ entries, devices }) {
  const [text, setText] = useState('');
  const shown = entries.filter(({ claim, device, driver }) =>
    `${holderText(claim)} ${device} ${driver} ${claim.uid}`.includes(text.trim()));
  return html`<${Card} title="Released" head=${html`<${Search} label="Search released devices" text=${text}
    set=${setText} />`}>
    <${Table} label="Released devices" none="No entry."
      heads="Device|Claim or pod|Held|Prepared|Released|Driver or resource"
      rows=${shown.map((entry) => [link(devices, entry.driver, entry.device), holderText(entry.claim),
        duration(entry.heldSeconds),
        at(entry.prepared), at(entry.released), entry.driver])} />
  <//>`;
}

export function ClaimsView({ live }) {
  const claims = useLive(live, 'claims');
  const history = useLive(live, 'history');
  const devices = useLive(live, 'devices').value;
  return html`<h1 tabindex="-1">Claims</h1>
    <${Loaded} entry=${claims}>${(value) => html`<${Current} claims=${value} devices=${devices} />`}<//>
    <${Loaded} entry=${history}>${(value) => html`<${Past} entries=${value} devices=${devices} />`}<//>`;
}
