// The heat map: a square per node, drawn on a canvas, so that 5,000 nodes cost as much as one element. Keyboards and
// screen readers move through it as through a slider whose value is a node.
import { html, useEffect, useRef, useState } from './shared/ui.js';
import { useSteady } from './fleet_live.js';
import { Failure, devices, nodeTitle, nodes } from './parts.js';
import { go } from './route.js';

const CORDONED = 101;  // values of the server beyond percentages
const UNHEALTHY = 102;
const MOST_HEIGHT = 340;
const [LARGEST, SMALLEST] = [26, 5];  // px of a square, with its gap

// The largest squares with which the map is at most MOST_HEIGHT high.
function layout(total, width) {
  let size = LARGEST;
  while (size > SMALLEST && Math.ceil(total / Math.floor(width / size)) * size > MOST_HEIGHT) --size;
  const columns = Math.max(1, Math.min(total, Math.floor(width / size)));
  return { size, columns, rows: Math.ceil(total / columns) };
}

function describe(heat, index) {
  const value = heat.values[index];
  const state = value === UNHEALTHY ? 'has an unhealthy device'
    : value === CORDONED ? 'has a cordoned device' : `${value} % held`;
  return `${nodeTitle(heat.names[index])}: ${state}, ${devices(heat.devices[index])}`;
}

function summarize(heat) {
  const unhealthy = heat.values.filter((value) => value === UNHEALTHY).length;
  const cordoned = heat.values.filter((value) => value === CORDONED).length;
  const full = heat.values.filter((value) => value === 100).length;
  const idle = heat.values.filter((value) => value === 0).length;
  return [[unhealthy, 'with unhealthy devices'], [cordoned, 'with cordoned devices'], [full, 'fully held'],
    [heat.values.length - unhealthy - cordoned - full - idle, 'partly held'], [idle, 'free']];
}

function draw(canvas, heat, place, cursor, query) {
  const ratio = devicePixelRatio || 1;
  const width = place.columns * place.size;
  const height = place.rows * place.size;
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * ratio);  // this also clears it
  canvas.height = Math.round(height * ratio);
  const context = canvas.getContext('2d');
  context.scale(ratio, ratio);
  const style = getComputedStyle(canvas);
  const [held, free, bad, warn, text, card] =
    ['--held-fill', '--good-fill', '--bad-fill', '--warn-fill', '--text', '--card']
      .map((name) => style.getPropertyValue(name).trim());
  const side = place.size - (place.size > 8 ? 2 : 1);
  const found = query?.toLowerCase();
  for (let i = 0; i < heat.values.length; ++i) {
    const value = heat.values[i];
    const x = (i % place.columns) * place.size;
    const y = Math.floor(i / place.columns) * place.size;
    const dim = found !== undefined && !heat.names[i].toLowerCase().includes(found) ? 0.2 : 1;
    context.globalAlpha = dim * (value > 0 && value < 100 ? 0.25 + (0.6 * value) / 100 : 1);
    context.fillStyle = value === UNHEALTHY ? bad : value === CORDONED ? warn : value > 0 ? held : free;
    context.fillRect(x, y, side, side);
    // Also a shape, for people who do not see the colours: a square in unhealthy nodes, a bar in cordoned ones.
    if (value > 100 && side >= 6) {
      context.globalAlpha = dim;
      context.fillStyle = card;
      const third = side / 3;
      context.fillRect(x + third, y + (value === UNHEALTHY ? third : side * 0.42),
        third, value === UNHEALTHY ? third : side * 0.16);
    }
  }
  context.globalAlpha = 1;
  if (cursor === undefined) return;
  context.strokeStyle = text;
  context.lineWidth = 2;
  context.strokeRect((cursor % place.columns) * place.size + 0.5,
    Math.floor(cursor / place.columns) * place.size + 0.5, side - 1, side - 1);
}

// Redraws when the width or the colours of the page change.
function useSurroundings(element) {
  const [width, change] = useState(0);
  const [, recolour] = useState(0);
  useEffect(() => {
    const observer = new ResizeObserver(() => change(Math.floor(element.current.clientWidth)));
    observer.observe(element.current);
    const dark = matchMedia('(prefers-color-scheme: dark)');
    const again = () => recolour((number) => number + 1);
    dark.addEventListener('change', again);
    return () => {
      observer.disconnect();
      dark.removeEventListener('change', again);
    };
  }, []);
  return width;
}

const STEPS = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };

function Squares({ heat, query }) {
  const frame = useRef();
  const canvas = useRef();
  const width = useSurroundings(frame);
  const [cursor, move] = useState(undefined);
  const [focused, focus] = useState(false);
  const total = heat.values.length;
  const at = Math.min(cursor ?? 0, total - 1);
  const shown = focused || cursor !== undefined;
  const place = layout(total, Math.max(width, SMALLEST));
  useEffect(() => {
    if (width > 0) draw(canvas.current, heat, place, shown ? at : undefined, query);
  });
  function onKeyDown(event) {
    const step = { ...STEPS,
      ArrowUp: -place.columns, ArrowDown: place.columns, PageUp: -5 * place.columns,
        PageDown: 5 * place.columns }[event.key];
    if (event.key === 'Enter') go({ node: heat.names[at] });
    if (step === undefined) return;
    event.preventDefault();
    move(Math.max(0, Math.min(total - 1, at + step)));
  }
  function under(event) {
    const column = Math.floor(event.offsetX / place.size);
    const index = Math.floor(event.offsetY / place.size) * place.columns + column;
    return column >= 0 && column < place.columns && index >= 0 && index < total ? index : undefined;
  }
  return html`<div class="heat" ref=${frame}>
    <canvas ref=${canvas} tabindex="0" role="slider" aria-label="Node in the heat map" aria-describedby="heat-help"
      aria-valuemin="1" aria-valuemax=${total} aria-valuenow=${at + 1} aria-valuetext=${describe(heat, at)}
      onKeyDown=${onKeyDown} onFocus=${() => focus(true)} onBlur=${() => { focus(false); move(undefined); }}
      onMouseMove=${(event) => move(under(event))} onMouseLeave=${() => move(undefined)}
      onClick=${(event) => under(event) !== undefined && go({ node: heat.names[under(event)] })} />
    <p class="pointed" aria-hidden="true">${shown ? describe(heat, at)
      : 'Point at a square, or move with the arrow keys; Enter opens the node.'}</p>
    <p class="hidden" id="heat-help">
      Arrow keys move to another node, Enter opens it. The table below lists the same nodes.</p>
  </div>`;
}

const Key = ({ kind, text }) => html`<li><svg viewBox="0 0 12 12" aria-hidden="true">
  <rect class=${kind} width="12" height="12" rx="2" />
  ${kind === 'fill-unhealthy' && html`<rect class="fill-card" x="4" y="4" width="4" height="4" />`}
  ${kind === 'fill-cordoned' && html`<rect class="fill-card" x="4" y="5" width="4" height="2" />`}
</svg>${text}</li>`;

export function HeatMap({ live, route }) {
  const { driver, model, query } = route.filters;
  const values = new URLSearchParams();
  if (driver !== undefined) values.set('driver', driver);
  if (model !== undefined) values.set('model', model);
  const { value: heat, error } = useSteady(live, `heat?${values}`);
  return html`<section class="card" aria-labelledby="heat">
    <div class="head"><h2 id="heat">Heat map</h2>
      ${(driver ?? model) !== undefined && html`<span
        class="dim">${[model === '' ? 'unknown model' : model, driver].filter(Boolean).join(', ')}</span>`}
      <ul class="legend end">
        <${Key} kind="fill-free" text="free" /><${Key} kind="fill-half" text="partly held" />
          <${Key} kind="fill-held" text="held" />
        <${Key} kind="fill-cordoned" text="cordoned" /><${Key} kind="fill-unhealthy" text="unhealthy" />
      </ul>
    </div>
    <${Failure} live=${live} error=${error} />
    ${heat && heat.values.length === 0 && html`<p class="empty">No node matches these filters.</p>`}
    ${heat && heat.values.length > 0 && html`
      <${Squares} heat=${heat} query=${query} />
      <p class="small-text" id="heat-text">
        ${nodes(heat.values.length)}: ${summarize(heat).filter(([number]) => number > 0)
        .map(([number, what]) => `${number.toLocaleString('en')} ${what}`).join(', ')}.</p>`}
  </section>`;
}
