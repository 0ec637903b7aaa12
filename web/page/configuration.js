// The configuration in force, a newer one that was refused, and the rules of health.
import { Card, Facts, Loaded, Table, at, code, condition, html, useLive } from './shared/ui.js';
import { limitText, ruleText } from './common.js';

const Problems = ({ level, title, lines }) => lines.length > 0 && html`<section class=${`notice ${level}`}
  aria-label=${title}>
  <h2>${title}</h2><ul class="mono">${lines.map((line) => html`<li>${line}</li>`)}</ul></section>`;

const State = ({ config }) => html`
  <${Problems} level="bad" title="The file is refused; the configuration in force stays" lines=${config.errors} />
  <${Problems} level="warn" title="These keys need a restart of the daemon" lines=${config.restart} />
  <${Card} title="File" head=${condition(config.state)}><${Facts} facts=${[
    ['File', code(config.file)], ['In force since', at(config.applied)],
    ['SHA-256', code(config.sha256)], ['Reloads', `${config.reloads}, refused ${config.failures}`],
  ]} /><//>`;

const Rules = ({ of: { module, refused, rules } }) => html`<${Card} title=${`Rules of health: ${module}`}>
  <${Problems} level="bad" title="The rules of the file are refused" lines=${refused ? refused.split('\n') : []} />
  <${Table} label=${`Rules of module ${module}`} heads="Cause|Reason|Limit|Rule|About"
    none="The module has not been loaded."
    rows=${rules.map((rule) => [code(rule.cause), rule.reason || '*', limitText(rule) || '–', ruleText(rule),
      rule.help])} />
<//>`;

export function ConfigurationView({ live }) {
  const status = useLive(live, 'status');
  const rules = useLive(live, 'health-rules').value ?? [];
  return html`<h1 tabindex="-1">Configuration</h1>
    <${Loaded} entry=${status}>${(value) => html`<${State} config=${value.config} />`}<//>
    ${rules.map((each) => html`<${Rules} key=${each.module} of=${each} />`)}`;
}
