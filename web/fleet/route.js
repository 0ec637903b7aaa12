// The address of a view is the hash: "#/?state=unhealthy&sort=-held" is the overview, "#/nodes/NAME" a node.
import { useEffect, useState } from './shared/ui.js';

const FILTERS = ['driver', 'model', 'state', 'cause', 'query'];
export const STATES = ['unhealthy', 'cordoned', 'held', 'free'];  // the worst first

export function parse(hash) {
  const [path, search = ''] = hash.replace(/^#/, '').split(/\?(.*)/s);
  const values = new URLSearchParams(search);
  const filters = {};
  for (const name of FILTERS) {
    // An empty model means devices whose model is unknown.
    if (values.has(name) && (values.get(name) || name === 'model')) filters[name] = values.get(name);
  }
  if (!STATES.includes(filters.state)) delete filters.state;
  const offset = Math.max(0, Number.parseInt(values.get('offset') ?? '0', 10) || 0);
  const route = { filters, sort: values.get('sort') || 'name', offset };
  const node = /^\/nodes\/(.+)$/.exec(path);
  if (!node) return route;
  try {
    return { node: decodeURIComponent(node[1]), filters: {}, sort: 'name', offset };
  } catch {
    return route;
  }
}

export function format({ node, filters = {}, sort = 'name', offset = 0 }) {
  const values = new URLSearchParams(filters);
  if (sort !== 'name') values.set('sort', sort);
  if (offset > 0) values.set('offset', offset);
  const search = values.size > 0 ? `?${values}` : '';
  return `#/${node === undefined ? '' : `nodes/${encodeURIComponent(node)}`}${search}`;
}

// Replaces the entry of the browser's history for changes that "back" should skip, such as letters of a search.
export function go(route, replace = false) {
  const hash = format(route);
  if (hash === location.hash) return;
  if (!replace) {
    location.hash = hash;
    return;
  }
  history.replaceState(null, '', hash);
  dispatchEvent(new HashChangeEvent('hashchange'));
}

// The route with other filters; an undefined value removes one. The first page shows them.
export const filtered = (route, changes) => ({
  ...route,
  offset: 0,
  filters: Object.fromEntries(Object.entries({ ...route.filters, ...changes })
    .filter(([, value]) => value !== undefined)),
});

export function useRoute() {
  const [hash, change] = useState(location.hash);
  useEffect(() => {
    const read = () => change(location.hash);
    addEventListener('hashchange', read);
    return () => removeEventListener('hashchange', read);
  }, []);
  return parse(hash);
}
