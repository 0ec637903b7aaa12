// One device: its health with rules, timeline, facts, and the commands of an operator.
import { Badge, Card, Facts, Loaded, Since, Table, at, code, commas, count, html, measure, taint, tone,
  useLive } from './shared/ui.js';
import { DeviceLink, HealthBadges, holderText, isWell, limitText, ruleText, valueText } from './common.js';
import { CommandButton } from './commands.js';
import { Timeline } from './timeline.js';

// A glob as in fnmatch(3).
const matches = (glob, text) =>
  new RegExp(`^${glob.replace(/[.+^${}()|\\[\]]/g, '\\$&').replace(/\*/g, '.*').replace(/\?/g, '.')}$`, 's').test(text);

function Cause({ device, cause, rules, ...rest }) {
  const rule = rules.find((each) => matches(each.cause, cause.cause) && matches(each.reason || '*', cause.reason));
  const limit = rule && limitText(rule);
  const tainted = taint({ key: cause.taintKey, value: cause.taintValue, effect: cause.taint });
  const name = cause.cause || 'general';
  return html`<li class=${tone(cause.level)}>
    <div class="head">
      <h3>${name}</h3>
      <${Badge} level=${cause.level}>${cause.state}<//>
      ${cause.quarantined && html`<${Badge} level="bad" plain>quarantined<//>`}
      ${cause.value !== undefined && html`<b>${measure(cause.value, rule?.unit ?? '')}</b>`}
      ${limit && html`<span class="dim">limit ${limit}</span>`}
      <span class="end dim">for <${Since} time=${cause.since} /></span>
      ${!isWell(cause) && !cause.ofParent && cause.cause !== 'Cordoned' && html`<${CommandButton} small command="clear"
        name=${`${name} of ${device.name}`}
        target=${{ device: device.id, module: device.module, cause: cause.cause }} ...${rest} />`}
    </div>
    ${(cause.reason || cause.message) && html`<p>${[cause.reason, cause.message].filter(Boolean).join(': ')}</p>`}
    ${cause.ofParent && html`<p class="dim">It is a cause of the parent, ${cause.ofParent}.</p>`}
    ${tainted && html`<p>Taint ${code(tainted)}</p>`}
    ${rule && html`<p class="dim">${rule.help && `${rule.help} · `}${ruleText(rule)}</p>`}
  </li>`;
}

// Many healthy causes would hide the others.
const Causes = ({ device, ...rest }) => {
  const list = (causes) => html`<ul class="causes">${causes.map((cause) => html`<${Cause} key=${cause.cause}
    device=${device} cause=${cause} ...${rest} />`)}</ul>`;
  const { causes } = device.health;
  const well = causes.filter(isWell);
  return html`${list(causes.filter((cause) => !isWell(cause)))}
    ${well.length > 0 && html`<details open=${well.length < 4}><summary>${
      count(well.length, 'healthy cause')}</summary>${list(well)}</details>`}`;
};

const policyText = ({ default: usual, values, min, max, step }) => [
  usual && `${usual} by default`, values.length && `one of ${values.join(', ')}`, min && `at least ${min}`,
    max && `at most ${max}`,
  step && `in steps of ${step}`].filter(Boolean).join(', ');

function About({ device, devices }) {
  const own = devices.filter((other) => other.module === device.module);
  const parts = own.filter((other) => other.parent === device.id);
  const { binding } = device;
  return html`<${Card} title="About"><${Facts} facts=${[
    ['Id', code(device.id)], ['Kind', device.kind], ['Module', html`<a href="#/modules">${device.module}</a>`],
    ['Driver or resource', device.driver || 'not served: no rule takes the device'], ['Pool', device.pool],
    ['Parent', device.parent && html`<${DeviceLink} device=${own.find(({ id }) => id === device.parent)}
      name=${device.parent} />`],
    ['Partitions', parts.length > 0 && commas(parts.map((part) => html`<${DeviceLink} device=${part} />`))],
    ['NUMA node', device.numaNodes.join(', ')], ['PCI address', device.pciBusID],
    ['Shared', device.shared && 'by several claims'],
    ['Before a pod', binding && `waits for ${binding.conditions.join(', ')}; not after ${binding.failures.join(', ')}`],
  ]} /><//>`;
}

const Traits = ({ device }) => html`<${Card} title="Attributes and capacity"><${Facts} facts=${[
  ...Object.entries(device.attributes).map(([name, value]) => [name, valueText(value)]),
  ...Object.entries(device.capacity).map(([name, value]) => [`capacity ${name}`,
    device.requestPolicies[name] ? `${value}; a claim gets ${policyText(device.requestPolicies[name])}` : value]),
]} /><//>`;

const Events = ({ events }) => html`<${Card} title="Events"><${Table} label="Events of the device"
  none="Nothing has happened yet."
  heads="Time|Event|Cause|State|By|Reason and message" rows=${events.slice(0, 100).map((event) => [at(event.time),
    event.kind, event.cause || '–', event.state || '–', event.by || '–',
    [event.reason, event.message].filter(Boolean).join(': ')])} /><//>`;

const Title = ({ device, ...rest }) => {
  const command = (name) => html`<${CommandButton} command=${name} name=${device.name}
    target=${{ device: device.id, module: device.module }} ...${rest} />`;
  const { cordon, claims } = device;
  return html`<div class="head">
    <h1 tabindex="-1">${device.name}</h1>
    <${HealthBadges} device=${device} />
    <div class="end buttons">${command(cordon ? 'uncordon' : 'cordon')}${command('reset')}</div>
  </div>
  ${cordon && html`<p class="notice">Cordoned by ${cordon.by} for <${Since}
    time=${cordon.since} />${cordon.reason && `: ${cordon.reason}`}</p>`}
  ${claims.length > 0 && html`<p>Held by <a href="#/claims">${claims.map(holderText).join(', ')}</a></p>`}`;
};

// Claims that still hold the device are not in the history yet.
const holdersOf = ({ name, module, driver }, claims, history) => [
  ...claims.filter((claim) => claim.driver === driver && claim.prepared
    && claim.devices.some(({ device }) => device === name)),
  ...history.filter((entry) => entry.device === name && entry.module === module)];

export function DeviceView({ live, module, id, ...rest }) {
  const devices = useLive(live, 'devices');
  const device = devices.value?.find((each) => each.module === module && each.id === id);
  const known = device ?? { name: id, module };
  const events = useLive(live, `health-events?limit=500&${new URLSearchParams({ module, device: id })}`);
  const history = useLive(live, `history?limit=500&${new URLSearchParams({ device: known.name })}`).value ?? [];
  const claims = useLive(live, 'claims').value ?? [];
  const rules = useLive(live, 'health-rules').value?.find((each) => each.module === module)?.rules ?? [];
  return html`
    <p><a href="#/">Devices</a> <span class="dim">›</span> ${known.name}</p>
    <${Loaded} entry=${devices}>${(all) => (device ? html`<${Title} device=${device} ...${rest} />
      <${Card} title="Health"><${Causes} device=${device} rules=${rules} ...${rest} /><//>`
      : html`<h1 tabindex="-1">${id}</h1><p class="notice warn">Module ${module} does not list this device.</p>`)}<//>
    <${Timeline} device=${device} events=${events.value?.events ?? []} history=${holdersOf(known, claims, history)} />
    ${device && html`<div class="grid"><${About} device=${device} devices=${devices.value} /><${Traits}
      device=${device} /></div>`}
    <${Loaded} entry=${events}>${({ events: all }) => html`<${Events} events=${all} />`}<//>`;
}
