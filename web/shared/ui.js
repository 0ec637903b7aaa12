// The one place from which pages take preact and htm. Text in templates becomes text nodes, never markup.
export { Component, html, render, useEffect, useMemo, useRef, useState } from './vendor/htm-preact.js';
