// The history of a device as lanes: one for each cause, for cordons, absence and resets, and for its holders.
import { Card, Choice, dateTime, html, useNow, useState } from './shared/ui.js';
import { holderText, isWell } from './common.js';

const HOUR = 3600e3;
const RANGES = [[HOUR, '1 h'], [6 * HOUR, '6 h'], [24 * HOUR, '24 h'], [168 * HOUR, '7 d']];
const TONES = { degraded: 'warn', unhealthy: 'bad' };
const LEGEND = [['bad', 'unhealthy'], ['warn', 'degraded'], ['held', 'held'], ['idle', 'cordoned, gone or unknown']];

const nameOf = (cause) => cause || 'general';

// Returns [lane, spans]; a span that has not ended lasts until now.
function lanes(device, events, history, now) {
  const all = new Map();
  const lane = (name) => all.get(name) ?? all.set(name, []).get(name);
  const isOpen = (name) => all.get(name)?.at(-1)?.to === now;
  function end(name, time) {
    if (isOpen(name)) all.get(name).at(-1).to = time;
  }
  function begin(name, time, span) {
    end(name, time);
    lane(name).push({ from: time, to: now, tone: 'idle', ...span });
  }
  for (const event of [...events].reverse()) {
    const { kind, cause, by, message } = event;
    const time = Date.parse(event.time);
    const text = [kind, event.state, by && `by ${by}`, event.reason, message].filter(Boolean).join(', ');
    const act = {
      began: () => begin(nameOf(cause), time, { tone: TONES[event.state], text }),
      quarantined: () => begin(nameOf(cause), time, { tone: 'bad', text, quarantined: true }),
      ended: () => end(nameOf(cause), time),
      cordoned: () => begin('cordon', time, { text }),
      uncordoned: () => end('cordon', time),
      gone: () => begin('absent', time, { text }),
      back: () => end('absent', time),
    };
    act.eased = act.began;
    act.cleared = act.ended;
    if (act[kind]) act[kind]();
    else lane('reset').push({ from: time, to: time, tone: 'mark', text });
  }
  // A cause may be older than the events that the daemon keeps.
  for (const cause of device?.health.causes ?? []) {
    const { since, state, quarantined, message } = cause;
    if (!isOpen(nameOf(cause.cause)) && since && !isWell(cause))
      begin(nameOf(cause.cause), Date.parse(since), { tone: TONES[state], text: `${state}: ${message}`, quarantined });
  }
  return [...all, ...holders(history, now)];
}

// Claims that hold a device at the same time get a lane each.
function holders(history, now) {
  const found = [[]];
  for (const { claim, prepared, released } of [...history].reverse()) {
    const span = { from: Date.parse(prepared), to: released ? Date.parse(released) : now, tone: 'held',
      text: holderText(claim) };
    const free = found.find((spans) => !(spans.at(-1)?.to > span.from));
    if (free) free.push(span);
    else found.push([span]);
  }
  return found.map((spans, index) => [index ? `holder ${index + 1}` : 'holder', spans]);
}

function Lane({ name, spans, from, now }) {
  const place = (time) => (100 * Math.max(0, time - from)) / (now - from);
  const shown = spans.filter((span) => span.to >= from);
  const texts = shown.map(({ text, ...span }) => `${text}: ${dateTime(span.from)} to ${span.to === now ?
    'now' : dateTime(span.to)}`);
  return html`<dt>${name}</dt><dd><svg role="img" aria-label=${`${name}: ${texts.join('; ') || 'nothing'}`}>
    ${shown.map((span, index) => html`<rect class=${`${span.tone}${span.quarantined ? ' quarantined' : ''}`}
      x=${`${place(span.from)}%`}
      width=${`${Math.max(0.4, place(span.to) - place(span.from))}%`} height="100%"
        rx="2"><title>${texts[index]}</title></rect>`)}
  </svg></dd>`;
}

function Axis({ from, now }) {
  const text = (time) => dateTime(time).slice(...(now - from > 24 * HOUR ? [5, 10] : [11, 16]));
  return html`<dt></dt><dd class="axis">${[0, 1, 2,
    3].map((quarter) => html`<span>${text(from + (quarter / 4) * (now - from))}</span>`)}<span>now</span></dd>`;
}

export function Timeline({ device, events, history }) {
  const [range, setRange] = useState(HOUR);
  useNow();
  const now = Date.now();
  const from = now - range;
  return html`<${Card} title="Timeline" head=${html`<${Choice} label="Range" choices=${RANGES} value=${range}
    set=${setRange} />`}>
    <dl class="timeline">
      ${lanes(device, events, history, now).map(([name, spans]) => html`<${Lane} name=${name} spans=${spans}
        from=${from} now=${now} />`)}
      <${Axis} from=${from} now=${now} />
    </dl>
    <p class="legend">${LEGEND.map(([tone, text]) => html`<span><svg aria-hidden="true"><rect class=${tone} width="12"
      height="12" rx="2" /></svg>${text}</span>`)}</p>
  <//>`;
}
