// Devices, claims and rules, as several views show them.
import { Badge, duration, html, measure } from './shared/ui.js';

export const idOf = (device) => `${device.module}/${device.id}`;

export const DeviceLink = ({ device, name }) => (device ? html`<a href=${`#/devices/${
  [device.module, device.id].map(encodeURIComponent).join('/')}`}>${device.name}</a>` : name);

export const isWell = ({ state }) => state === 'healthy' || state === 'unmonitored';
export const needsCare = (device) => !isWell(device.health);

export const HealthBadges = ({ device }) => html`<span class="badges">
  <${Badge} level=${device.health.level}>${device.health.state}<//>
  ${device.health.causes.some((cause) => cause.quarantined) && html`<${Badge} level="bad" plain>quarantined<//>`}
  ${device.cordon && html`<${Badge} plain>cordoned<//>`}
</span>`;

// Devices of resources are held by id, not by a claim.
export const holderText = (claim) => (claim.name ? `${claim.namespace}/${claim.name}` : claim.uid);

// A JSON value as people write it.
export const valueText = (value) => (Array.isArray(value) ? value.join(', ') || 'none'
  : value !== null && typeof value === 'object' ? JSON.stringify(value) : String(value));

export function limitText({ limit, unit }) {
  if (!limit) return '';
  const bad = `${limit.side === 'below' ? '≤' : '≥'} ${measure(limit.limit, unit)}`;
  return limit.clear === limit.limit ? bad : `${bad}, good again at ${measure(limit.clear, unit)}`;
}

const RECOVERIES = {
  report: 'ends when the module says so', silence: 'ends after silence', stable: 'ends when the value is stable',
  operator: 'only an operator ends it',
};

export const ruleText = (rule) => [
  rule.severity && `counts as ${rule.severity}`,
  rule.holdDownSeconds > 0 && `counts after ${duration(rule.holdDownSeconds)}`,
  RECOVERIES[rule.recovery] + (rule.recoverySeconds > 0 ? ` for ${duration(rule.recoverySeconds)}` : ''),
  rule.relapses > 0 && `quarantined after ${rule.relapses} relapses in ${duration(rule.windowSeconds)}`,
  rule.resetsPerDay > 0 && `up to ${rule.resetsPerDay} resets a day`,
  rule.origin,
].filter(Boolean).join('; ');
