// The node at a glance.
import { Card, Loaded, Since, Table, condition, count, html, useLive } from './shared/ui.js';
import { Devices } from './devices.js';

const CONDITIONS = {
  apiServer: 'API server', ledger: 'Ledger', podsApi: 'Pods API', podResources: 'PodResources',
  containerRuntime: 'Container runtime', claimStatus: 'Claim status', nodeLabels: 'Node labels', stateDir: 'State folder',
};

const Summary = ({ status }) => html`
  <div class="head">
    <h1 tabindex="-1">${status.node}</h1>
    <span class="dim">Cardcage ${status.version} · up <${Since}
      time=${status.started} /> · ${count(status.restarts, 'restart')} · ${
      count(status.liveClaims, 'claim')}</span>
  </div>
  ${status.lastEnd && html`<p class="notice warn">The daemon was restarted: ${status.lastEnd}</p>`}
  ${status.warnings.length > 0 && html`<ul class="notice warn"
    aria-label="Warnings">${status.warnings.map((text) => html`<li>${text}</li>`)}</ul>`}
  <ul class="card conditions" aria-label="Conditions">
    <li><span class="dim">Configuration</span> <a href="#/configuration">${condition(status.config.state)}</a></li>
    ${Object.entries(CONDITIONS).map(([key, name]) => status[key].state && html`<li><span class="dim">${name}</span>
      <span>${condition(status[key])}</span></li>`)}
  </ul>`;

const Served = ({ status }) => html`<${Card} title="Served to the kubelet">
  <${Table} label="Drivers and resources" heads="Driver or resource|Registration|Slices|Devices"
    none="The configuration serves nothing." rows=${[
    ...status.drivers.map((driver) => [driver.name, condition(driver.registration),
      condition(driver.publication), driver.devices]),
    ...status.resources.map((resource) => [resource.name, condition(resource.registration), '–',
      `${resource.devices}, ${resource.handedOut} held`])]} />
<//>`;

const Modules = ({ modules }) => html`<${Card} title="Modules">
  <${Table} label="List of modules" heads="Module|State|Devices|Restarts" none="The configuration has no module."
    rows=${modules.map((module) => [
    html`<a href="#/modules">${module.name}</a>`, condition(module.state), module.devices, module.restarts])} />
<//>`;

export function NodeView({ live }) {
  const status = useLive(live, 'status');
  const modules = useLive(live, 'modules');
  const devices = useLive(live, 'devices');
  return html`
    <${Loaded} entry=${status}>${(value) => html`<${Summary} status=${value} />`}<//>
    <${Loaded} entry=${devices}>${(value) => html`<${Devices} devices=${value} />`}<//>
    <${Loaded} entry=${modules}>${(value) => html`<${Modules} modules=${value} />`}<//>
    ${status.value && html`<${Served} status=${status.value} />`}`;
}
