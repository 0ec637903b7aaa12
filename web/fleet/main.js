// The frame of the page: the bar, general notices, and the view that the address names.
import { dateTime, html, render, useEffect, useRef } from './shared/ui.js';
import { FleetLive, useSteady } from './fleet_live.js';
import { NodeView } from './node.js';
import { Overview } from './overview.js';
import { nodeTitle } from './parts.js';
import { format, useRoute } from './route.js';

const live = new FleetLive();

const CONNECTIONS = {
  connecting: ['connecting', ''],
  live: ['live', 'good'],
  lost: ['no connection', 'bad'],
  gone: ['no connection', 'bad'],
  denied: ['not permitted', 'bad'],
};

function Connection() {
  const [word, tone] = live.paused && live.connection === 'live' ? ['paused', 'warn'] : CONNECTIONS[live.connection];
  return html`<span class="end">
    <span id="connection" class=${`badge ${tone}`}>${word}</span>
    <button class="small" aria-pressed=${String(live.paused)}
      onClick=${() => live.pause(!live.paused)}>Pause updates</button>
  </span>`;
}

function notices(summary) {
  const found = [];
  if (live.connection === 'denied')
    found.push(['bad', 'You are not permitted to see the fleet. Sign in again, or ask your administrator.']);
  if (live.connection === 'lost' || live.connection === 'gone')
    found.push(['bad', 'The server of this page does not respond. '
      + `The page shows the fleet at ${dateTime(live.updated)}, and tries again.`]);
  if (summary && !summary.synced)
    found.push(['warn',
      'The first lists from the API server are not complete yet: more nodes and devices will appear.']);
  for (const warning of summary?.warnings ?? []) found.push(['warn', warning]);
  return found;
}

function App() {
  const route = useRoute();
  const { value: summary, error } = useSteady(live, 'summary');
  const overview = useRef('#/');
  if (route.node === undefined) overview.current = format(route);
  const heading = useRef();
  const arrived = useRef(false);
  // Screen readers announce the view that has opened.
  useEffect(() => {
    document.title = `${route.node === undefined ? 'Fleet' : nodeTitle(route.node)} · Cardcage`;
    if (arrived.current) {
      scrollTo(0, 0);
      heading.current?.focus({ preventScroll: true });
    }
    arrived.current = true;
  }, [route.node]);
  return html`
    <a class="skip" href="#main" onClick=${skip}>Skip to the content</a>
    <header class="bar">
      <span class="brand">Cardcage fleet</span>
      <nav aria-label="Views"><a href=${overview.current}
        aria-current=${route.node === undefined ? 'page' : undefined}>Overview</a></nav>
      <${Connection} />
    </header>
    <main id="main" tabindex="-1">
      <div id="notices" role="status">
        ${notices(summary).map(([tone, text], number) => html`<p key=${number} class=${`notice ${tone}`}>${text}</p>`)}
      </div>
      ${route.node === undefined
        ? html`<${Overview} live=${live} route=${route} summary=${summary} error=${error} heading=${heading} />`
        : html`<${NodeView} key=${route.node} live=${live} route=${route} back=${overview.current}
          heading=${heading} />`}
    </main>`;
}

// The hash holds the view, so a plain link cannot move to an element.
function skip(event) {
  event.preventDefault();
  document.getElementById('main').focus();
}

render(html`<${App} />`, document.body);
