// All that pages take from here. Text in templates becomes text nodes, never markup.
export { Component, html, render, useEffect, useMemo, useRef, useState } from './vendor/htm-preact.js';
export * from './format.js';
export * from './live.js';
export * from './parts.js';
