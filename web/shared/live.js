// Keeps JSON of the server up to date: a stream of events names what changed, and what the page shows is fetched again.
import { useEffect, useState } from './vendor/htm-preact.js';

const LEAST_PAUSE = 100;  // ms between two fetches of the same path
const BACKOFF = [500, 1000, 2000, 5000, 10000];  // ms before the stream is opened again

// Fetches JSON below api/v1/. Paths are relative, so that the page also works behind a proxy with a prefix.
export async function request(path, options) {
  const fail = (message, status) => Promise.reject(Object.assign(new Error(message), { status }));
  const response = await fetch(`api/v1/${path}`, { cache: 'no-store', ...options }).catch(() => undefined);
  if (!response) return fail('The server of this page does not respond.', 0);
  const body = await response.json().catch(() => undefined);
  if (response.ok && body !== undefined) return body;
  return fail(body?.error ?? `The server responded with status ${response.status}.`, response.status);
}

export const send = (path, body) =>
  request(path, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json', 'X-Cardcage-Request': '1' },
    body: JSON.stringify(body),
  });

// Keeps the old objects that are equal in the new list, so that their rows are not rendered again.
const texts = new WeakMap();
function textOf(item) {
  if (!texts.has(item)) texts.set(item, JSON.stringify(item));
  return texts.get(item);
}
function keepEqual(old, fresh) {
  if (!old || typeof fresh !== 'object') return fresh;
  if (textOf(old) === textOf(fresh)) return old;
  if (!Array.isArray(old) || !Array.isArray(fresh)) return fresh;
  const known = new Map(old.map((item) => [textOf(item), item]));
  return fresh.map((item) => known.get(textOf(item)) ?? item);
}

// A stream that reconnects, and pauses while the page is hidden. `open` is also called after each pause, because changes
// may have been missed. The other events are those of the server.
export function watch(path, { open, lost, ...events }) {
  let source;
  let timer;
  let failures = 0;
  function close() {
    clearTimeout(timer);
    source?.close();
  }
  function connect() {
    close();
    if (document.hidden) return;
    source = new EventSource(`api/v1/${path}`);
    source.onopen = () => {
      failures = 0;
      open();
    };
    source.onerror = () => {
      close();
      timer = setTimeout(connect, BACKOFF[Math.min(failures++, BACKOFF.length - 1)]);
      lost();
    };
    for (const [name, handle] of Object.entries(events))
      source.addEventListener(name, (event) => handle(JSON.parse(event.data || '{}')));
  }
  document.addEventListener('visibilitychange', connect);
  connect();
}

// sections: for each section that the stream names, the first words of the paths that it changes.
export class Live {
  constructor(path, sections) {
    this.sections = sections;
    this.entries = new Map();
    this.listeners = new Set();
    this.connection = 'connecting';  // then "live", "gone" (the daemon), "lost" (the server), "denied"
    watch(path, {
      open: () => this.recover(),
      lost: () => this.probe(),
      change: (event) => this.changed(event.sections),
      gone: () => this.connected('gone'),
      back: () => this.recover(),
    });
  }

  connected(state) {
    this.connection = state;
    for (const listener of this.listeners) listener();
  }

  recover() {
    this.connected('live');
    for (const entry of this.entries.values()) this.refresh(entry);
  }

  // EventSource does not say why it failed.
  probe() {
    return request('session').catch(({ status }) => this.connected([401, 403].includes(status) ? 'denied' : 'lost'));
  }

  changed(sections) {
    const words = sections.flatMap((section) => this.sections[section] ?? section);
    for (const entry of this.entries.values()) if (words.includes(entry.path.split('?')[0])) this.refresh(entry);
  }

  entry(path) {
    if (!this.entries.has(path)) this.entries.set(path, { path, users: 0, stale: true });
    return this.entries.get(path);
  }

  use(path) {
    const entry = this.entry(path);
    if (entry.users++ === 0 && entry.stale) this.refresh(entry);
    return () => {
      if (--entry.users === 0 && path.includes('?')) this.entries.delete(path);
    };
  }

  // Fetches at once, or after the fetch in progress and a pause that grows with its length.
  async refresh(entry) {
    entry.stale = true;
    if (entry.busy) return;
    entry.busy = true;
    while (entry.stale && entry.users > 0) {
      entry.stale = false;
      const began = performance.now();
      try {
        entry.value = keepEqual(entry.value, await request(entry.path));
        entry.error = undefined;
      } catch (error) {
        entry.error = error;
      }
      this.connected([401, 403].includes(entry.error?.status) ? 'denied' : this.connection);
      await new Promise((resolve) => setTimeout(resolve, Math.max(LEAST_PAUSE, performance.now() - began)));
    }
    entry.busy = false;
  }
}

// Renders the component again when a value, or the connection, changes.
export function useLive(live, path) {
  const [, again] = useState(0);
  useEffect(() => {
    const listener = () => again((number) => number + 1);
    const release = live.use(path);
    live.listeners.add(listener);
    return () => {
      live.listeners.delete(listener);
      release();
    };
  }, [path]);
  return live.entry(path);
}
