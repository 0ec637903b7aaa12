// The frame of the page: the bar, the connection, and the view that the address names.
import { Live, html, render, useEffect, useLive, useRef, useState } from './shared/ui.js';
import { NodeView } from './node.js';
import { DeviceView } from './device.js';
import { ClaimsView } from './claims.js';
import { ModulesView } from './modules.js';
import { ConfigurationView } from './configuration.js';
import { needsCare } from './common.js';

const live = new Live('watch', {
  health: ['devices', 'health-events', 'status'],
  devices: ['devices', 'health-events', 'status'],
  claims: ['claims', 'devices', 'status'],
  modules: ['modules', 'health-rules', 'catalogue', 'status'],
  configuration: ['status', 'modules', 'health-rules'],
});

const VIEWS = { '': ['Node', NodeView], claims: ['Claims', ClaimsView], modules: ['Modules', ModulesView],
  configuration: ['Configuration', ConfigurationView] };

// "#/devices/mock/gpu-0"; unknown ones show the node.
function route(hash) {
  try {
    const [name, module, id] = hash.replace(/^#\/?/, '').split('/').map(decodeURIComponent);
    if (name === 'devices' && id) return { name: '', title: id, view: DeviceView, props: { module, id } };
    const [title, view] = VIEWS[name];
    return { name, title, view, props: {} };
  } catch {
    return route('');
  }
}

const CONNECTIONS = {
  connecting: ['idle', 'connecting'],
  live: ['good', 'live'],
  gone: ['bad', 'daemon away', 'The daemon does not respond. This page shows its last state until it is back.'],
  lost: ['bad', 'disconnected', 'The server of this page does not respond. If it has ended, run cagectl web again.'],
  denied: ['bad', 'signed out', 'The session of this page has ended. Run cagectl web for a new address.'],
};

// For screen readers.
function announcement(devices) {
  const sick = devices.filter(needsCare);
  const names = sick.slice(0, 3).map(({ name }) => name).join(', ');
  return sick.length ? `${sick.length} of ${devices.length} devices need care: ${names}` : '';
}

function Page() {
  const [hash, setHash] = useState(location.hash);
  const [said, say] = useState('');
  const moved = useRef(false);
  const session = useLive(live, 'session').value;
  const devices = useLive(live, 'devices').value ?? [];
  const { name, title, view: View, props } = route(hash);
  const sick = devices.filter(needsCare).length;
  useEffect(() => {
    addEventListener('hashchange', () => {
      moved.current = true;
      setHash((old) => (location.hash === '#main' ? old : location.hash));
      live.connected(live.connection);
      scrollTo(0, 0);
    });
  }, []);
  useEffect(() => {  // focus the heading of a new view, once it has one
    const heading = moved.current && document.querySelector('h1');
    if (!heading) return;
    moved.current = false;
    heading.focus();
  });
  useEffect(() => {
    document.title = `${sick ? `(${sick}) ` : ''}${title} · ${session?.node ?? 'Cardcage'}`;
  }, [title, session, sick]);
  useEffect(() => {
    const timer = setTimeout(() => say(''), 8000);
    return () => clearTimeout(timer);
  }, [said]);
  const [level, word, problem] = CONNECTIONS[live.connection];
  return html`
    <a class="skip" href="#main">Skip to the content</a>
    <header class="bar">
      <span class="brand">Cardcage</span>
      <nav aria-label="Views">${Object.entries(VIEWS).map(([each, [text]]) => html`<a href=${`#/${each}`}
        aria-current=${each === name ? 'page' : undefined}>${text}</a>`)}</nav>
      <span class="end"><span class="dim">${session?.node}${session?.actions === false && ' · read-only'}</span>
        <span class=${`badge ${level}`} role="status">${word}</span></span>
    </header>
    <main id="main">
      ${problem && html`<p class="notice bad" role="alert">${problem}</p>`}
      <${View} key=${hash} live=${live} session=${session} say=${say} ...${props} />
    </main>
    <div class="hidden" aria-live="polite">${announcement(devices)}</div>
    <div class="toast" role="status">${said && html`<p>${said}</p>`}</div>`;
}

render(html`<${Page} />`, document.body);
