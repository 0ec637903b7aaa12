// Small parts that several views use.
import { count, html } from './shared/ui.js';
import { STATES } from './route.js';

const text = (number) => number.toLocaleString('en');
const TONES = { unhealthy: 'bad', cordoned: 'warn', held: 'held', free: 'good' };

export const Badge = ({ state }) => html`<span class=${`badge ${TONES[state] ?? ''}`}>${state}</span>`;

// "3 unhealthy, 12 held, 9 free"; zeros are left out.
export function figures(item) {
  const parts = STATES.filter((state) => item[state] > 0)
    .map((state) => `${text(item[state])} ${state}`);
  return parts.join(', ') || 'no devices';
}

// A bar with the shares of the states.
export function Bar({ item }) {
  let from = 0;
  const parts = STATES.filter((state) => item[state] > 0).map((state) => {
    // One unhealthy device of 40,000 stays visible.
    const width = Math.max(0.6, (item[state] / item.devices) * 100);
    from += width;
    return { state, width, x: from - width };
  });
  return html`<svg class="share" role="img" aria-label=${figures(item)}
    viewBox=${`0 0 ${Math.max(from, 1)} 8`} preserveAspectRatio="none">
    ${parts.map(({ state, width, x }) => html`<rect key=${state} class=${`fill-${state}`}
      x=${x} width=${width} height="8" />`)}
  </svg>`;
}

export function Pager({ label, total, offset, size, shown, move }) {
  if (total <= size && offset === 0) return null;
  const last = Math.max(0, Math.ceil(total / size) - 1) * size;
  return html`<nav class="pager" aria-label=${label}>
    <button class="small" disabled=${offset === 0} onClick=${() => move(0)}>First</button>
    <button class="small" disabled=${offset === 0} onClick=${() => move(Math.max(0, offset - size))}>Previous</button>
    <span>${text(offset + 1)} to ${text(offset + shown)} of ${text(total)}</span>
    <button class="small" disabled=${offset + size >= total} onClick=${() => move(offset + size)}>Next</button>
    <button class="small" disabled=${offset + size >= total} onClick=${() => move(last)}>Last</button>
  </nav>`;
}

// A node name for people: "*" stands for devices that several nodes can use.
export const nodeTitle = (name) => (name === '*' ? 'Not bound to one node' : name);

// A lost connection has its own notice at the top of the page.
export const Failure = ({ live, error }) => error && live.connection === 'live'
  && html`<p class="notice bad" role="alert">${error.message}</p>`;

export const nodes = (number) => count(number, 'node');
export const devices = (number) => count(number, 'device');
