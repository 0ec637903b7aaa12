// Keeps the page up to date. The fleet changes all the time, so the page follows at most once a second, and not at all
// while its reader has paused it.
import { Live, useLive, useRef } from './shared/ui.js';

const PACE = 1000;  // ms between two updates

export class FleetLive extends Live {
  constructor() {
    super('watch', {});
    this.paused = false;
    this.updated = new Date();
  }

  // Any change may affect everything on the page.
  changed() {
    if (this.timer !== undefined) return;
    this.timer = setTimeout(() => {
      this.timer = undefined;
      this.refreshAll();
    }, Math.max(0, this.updated.getTime() + PACE - Date.now()));
  }

  recover() {
    this.updated = new Date();
    super.recover();
  }

  refreshAll() {
    if (this.paused) return;
    this.updated = new Date();
    for (const entry of this.entries.values()) this.refresh(entry);
  }

  pause(paused) {
    this.paused = paused;
    this.refreshAll();
    this.connected(this.connection);
  }
}

// The value of the path; while a new path is being fetched, that of the last one.
export function useSteady(live, path) {
  const entry = useLive(live, path);
  const last = useRef();
  if (entry.value !== undefined) last.current = entry.value;
  return { value: last.current, error: entry.error, waiting: entry.value === undefined && entry.error === undefined };
}

// Keeps each object of the last list that is equal in the new one, so that its row need not be rendered again.
export function useKept(list = []) {
  const known = useRef(new Map());
  const texts = list.map((item) => JSON.stringify(item));
  known.current = new Map(list.map((item, number) => [texts[number], known.current.get(texts[number]) ?? item]));
  return texts.map((text) => known.current.get(text));
}
