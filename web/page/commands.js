// The commands of an operator: a button opens a dialog that says what happens and asks for a reason.
import { html, send, useEffect, useRef, useState } from './shared/ui.js';

const COMMANDS = {
  cordon: ['Cordon', 'No new pod gets the device until it is uncordoned. Pods that have it keep it.'],
  uncordon: ['Uncordon', 'Pods may get the device again, if it is healthy.'],
  clear: ['Clear', 'Ends the cause, also if it is quarantined. If the module states it again, it counts again.'],
  reset: ['Reset', 'The module resets the device and its partitions. Refused while a claim or pod holds one of them.'],
  quiesce: ['Quiesce', 'The module lets go of its hardware, for a new driver. Pods keep running; new ones wait.'],
  resume: ['Resume', 'The module takes its hardware again.'],
};

function Dialog({ command, target, name, close, say }) {
  const dialog = useRef();
  const [reason, setReason] = useState('');
  const [error, setError] = useState('');
  const [busy, setBusy] = useState(false);
  const [label, effect] = COMMANDS[command];
  useEffect(() => dialog.current.showModal(), []);
  async function submit(event) {
    event.preventDefault();
    setBusy(true);
    try {
      const { done } = await send(`actions/${command}`, { ...target, reason: reason.trim() });
      dialog.current.close();
      say(done);
    } catch (failure) {
      setError(failure.message);
      setBusy(false);
    }
  }
  return html`<dialog ref=${dialog} aria-labelledby="command" aria-describedby="effect" onClose=${close}>
    <form onSubmit=${submit}>
      <h2 id="command">${label} ${name}?</h2>
      <p id="effect">${effect}</p>
      <label>Reason, for the history <input type="text" required maxlength="200" autocomplete="off" value=${reason}
        onInput=${(event) => setReason(event.target.value)} /></label>
      ${error && html`<p class="notice bad" role="alert">${error}</p>`}
      <div class="buttons">
        <button type="button" onClick=${() => dialog.current.close()}>Cancel</button>
        <button class="primary" disabled=${busy || !reason.trim()}>${label}</button>
      </div>
    </form>
  </dialog>`;
}

// target: {module, device, cause}, as the request has them; name: for people. Absent where the server is read-only.
export function CommandButton({ session, small, ...props }) {
  const [open, setOpen] = useState(false);
  return session?.actions && html`<button type="button" class=${small && 'small'}
    onClick=${() => setOpen(true)}>${COMMANDS[props.command][0]}…</button>
    ${open && html`<${Dialog} ...${props} close=${() => setOpen(false)} />`}`;
}
