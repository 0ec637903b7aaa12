// The modules: state, permissions, options, log, and what claims may name.
import { Badge, Card, Facts, Loaded, Since, Table, at, code, condition, duration, html, useLive } from './shared/ui.js';
import { valueText } from './common.js';
import { CommandButton } from './commands.js';

const Lines = ({ lines }) => html`<ul class="log mono" tabindex="0" aria-label="Log">${lines.map(({ time, text }) =>
  html`<li><span class="dim">${at(time)}</span> ${text}</li>`)}</ul>`;

const PERMISSIONS = {
  programs: 'Programs', writes: 'Writes', deviceNodes: 'Device nodes', mounts: 'Mounts', hooks: 'Hooks',
  netDevices: 'Network devices',
  groups: 'Groups', env: 'Environment',
};
const Permissions = ({ of }) => html`<${Facts}
  facts=${[['Confined by', of.confinedBy || 'nothing: it has the rights of the daemon'],
  ...Object.entries(PERMISSIONS).map(([key, name]) => [name, of[key] ? of[key].join(', ') || 'none' : 'all'])]} />`;

function optionText({ secret, given, value, type }) {
  if (secret) return given ? 'set, secret' : '';
  return value === undefined ? '' : type === 'duration' ? duration(value / 1e9) : valueText(value);
}

const Options = ({ options }) => html`<${Table} label="Options" heads="Option|Value|Default|Meaning"
  rows=${options.map((option) => [
  code(option.name), option.given ? html`<b>${optionText(option)}</b>` : optionText(option), option.default,
    option.help])} />`;

const Catalogue = ({ of: { problem, firstLeftOut, entries } }) => html`<h3>Claims may name</h3>
  ${(problem || firstLeftOut) && html`<p class="notice warn">${problem || `Left out: ${firstLeftOut}`}</p>`}
  <${Table} label="Catalogue" heads="Name|Kind|State|Detail" none="No entries."
    rows=${entries.map(({ name, kind, state, detail }) => [
    code(name), kind, html`<${Badge} level=${state === 'usable' ? 'good' : 'bad'}>${state}<//>`, detail])} />`;

const More = ({ title, children }) => html`<details><summary>${title}</summary>${children}</details>`;

function Module({ module, catalogue, ...rest }) {
  const { name, state, lastEnd, isolation } = module;
  const refused = Object.entries(module.notOffered);
  return html`<${Card} title=${name} head=${html`${condition(state)}
    ${module.since && html`<span class="dim">for <${Since} time=${module.since} /></span>`}
    <div class="end"><${CommandButton} command=${state.state === 'quiesced' ? 'resume' : 'quiesce'}
      name=${`module ${name}`}
      target=${{ module: name }} ...${rest} /></div>`}>
    <${Facts} facts=${[
      ['Module', module.id && `${module.id} ${module.version} by ${module.vendor}, ABI ${module.abi}`],
      ['File', code(module.path)], ['SHA-256', module.sha256 && code(module.sha256)],
      ['Runs', isolation === 'process' ? 'in a process of its own' : 'inside the daemon'],
      ['Devices', module.devices], ['Drivers', module.drivers.join(', ')],
      ['Restarts', `${module.restarts}, recent failures ${module.recentFailures}`],
      ['Services', module.services.map((service) => `${service.name}: ${service.state}`).join(', ')],
      ['Labels', Object.entries(module.labels).map((pair) => pair.join('=')).join(', ')],
    ]} />
    ${lastEnd && html`<p class="notice warn">Ended ${at(lastEnd.time)}: ${lastEnd.how}</p><${Lines}
      lines=${lastEnd.lines} />`}
    ${catalogue && html`<${Catalogue} of=${catalogue} />`}
    ${refused.length > 0 && html`<h3>Found, but not offered</h3><${Facts} facts=${refused} />`}
    <${More} title="Log"><${Lines} lines=${module.lines} /><//>
    <${More} title="Options"><${Options} options=${module.options} /><//>
    <${More} title="Permissions"><${Permissions} of=${module.permissions} /><//>
  <//>`;
}

export function ModulesView({ live, ...rest }) {
  const modules = useLive(live, 'modules');
  const catalogue = useLive(live, 'catalogue').value ?? [];
  return html`<h1 tabindex="-1">Modules</h1>
    <${Loaded} entry=${modules}>${(value) => value.map((module) => html`<${Module} key=${module.name}
      module=${module} ...${rest}
      catalogue=${catalogue.find((each) => each.module === module.name)} />`)}<//>`;
}
