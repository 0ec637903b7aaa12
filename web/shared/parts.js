// Parts that all pages are made of.
import { html, useEffect, useState } from './vendor/htm-preact.js';
import { dateTime, duration, tone } from './format.js';

export const Badge = ({ level, plain, children }) =>
  html`<span class=${`badge ${tone(level)}${plain ? ' plain' : ''}`}>${children}</span>`;

// A state with its reason.
export const condition = ({ state, level, detail }) =>
  html`<${Badge} level=${level}>${state || 'unknown'}<//>${detail && html` <span class="dim">${detail}</span>`}`;

export const code = (text) => html`<code>${text}</code>`;

export const Card = ({ title, head, children }) => html`<section class="card" aria-label=${title}>
  <div class="head"><h2>${title}</h2>${head}</div>${children}</section>`;

// facts: [name, value]; one without a value is left out.
export const Facts = ({ facts }) => html`<dl class="facts">${facts
  .filter(([, value]) => value || value === 0).map(([name, value]) => html`<dt>${name}</dt><dd>${value}</dd>`)}</dl>`;

// heads: "Name|State"; rows: lists of cells. A table wider than its card can be scrolled, also with the keyboard.
export const Table = ({ label, heads, rows, none }) => (rows.length === 0 ? html`<p class="empty">${none}</p>`
  : html`<div class="scroll" role="region" aria-label=${label} tabindex="0"><table>
    <thead><tr>${heads.split('|').map((head) => html`<th>${head}</th>`)}</tr></thead>
    <tbody>${rows.map((cells) => html`<tr>${cells.map((cell) => html`<td>${cell}</td>`)}</tr>`)}</tbody>
  </table></div>`);

export const Search = ({ label, text, set }) => html`<input class="end" type="search" placeholder="Search"
  aria-label=${label}
  value=${text} onInput=${(event) => set(event.target.value)} />`;

// choices: [value, label].
export const Choice = ({ label, choices, value, set }) => html`<div class="choice" role="group" aria-label=${label}>
  ${choices.map(([each, text]) => html`<button type="button" class="small" aria-pressed=${String(each === value)}
    onClick=${() => set(each)}>${text}</button>`)}</div>`;

// Renders again every 10 s, so that "for 5 min" stays true.
export function useNow() {
  const [now, set] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => set(Date.now()), 10000);
    return () => clearInterval(timer);
  }, []);
  return now;
}

export function Since({ time }) {
  const now = useNow();
  return time ? html`<time datetime=${time}
    title=${dateTime(time)}>${duration((now - new Date(time)) / 1000)}</time>` : '–';
}

export const at = (time) => (time ? html`<time class="nowrap" datetime=${time}>${dateTime(time)}</time>` : '–');

// Shows what is there, or why nothing is.
export function Loaded({ entry, children }) {
  if (entry.value !== undefined) return children(entry.value);
  return entry.error ? html`<p class="notice bad" role="alert">${entry.error.message}</p>` : html`<p
    class="empty">Loading…</p>`;
}

// Items with commas between them.
export const commas = (items) => items.map((item, index) => [index > 0 && ', ', item]);
