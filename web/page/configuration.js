// The configuration in force, a newer one that was refused, and the rules of health.
import { html } from './shared/ui.js';
import { useLive } from './shared/live.js';
import { At, Card, Condition, Facts, Loaded, Table } from './shared/parts.js';
import { limitText, ruleText } from './common.js';

const Problems = ({ level, title, lines }) => lines.length > 0 && html`<section class=${`notice ${level}`} aria-label=${title}>
  <h2>${title}</h2><ul class="mono">${lines.map((line) => html`<li>${line}</li>`)}</ul></section>`;

const State = ({ config }) => html`
  <${Problems} level="bad" title="The file is refused; the configuration in force stays" lines=${config.errors} />
  <${Problems} level="warn" title="These keys need a restart of the daemon" lines=${config.restart} />
  <${Card} title="File" head=${html`<${Condition} of=${config.state} />`}><${Facts} facts=${[
    ['File', html`<code>${config.file}</code>`], ['In force since', html`<${At} time=${config.applied} />`],
    ['SHA-256', html`<code>${config.sha256}</code>`], ['Reloads', `${config.reloads}, refused ${config.failures}`],
  ]} /><//>`;

const Rules = ({ of: { module, refused, rules } }) => html`<${Card} title=${`Rules of health: ${module}`}>
  <${Problems} level="bad" title="The rules of the file are refused" lines=${refused ? refused.split('\n') : []} />
  <${Table} label=${`Rules of module ${module}`} heads="Cause|Reason|Limit|Rule|About" none="The module has not been loaded."
    rows=${rules.map((rule) => [html`<code>${rule.cause}</code>`, rule.reason || '*', limitText(rule) || '–', ruleText(rule), rule.help])} />
<//>`;

export function ConfigurationView({ live }) {
  const status = useLive(live, 'status');
  const rules = useLive(live, 'health-rules').value ?? [];
  return html`<h1 tabindex="-1">Configuration</h1>
    <${Loaded} entry=${status}>${(value) => html`<${State} config=${value.config} />`}<//>
    ${rules.map((each) => html`<${Rules} key=${each.module} of=${each} />`)}`;
}
