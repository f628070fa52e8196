/** The two items of the status bar: the time left, which opens the menu, and the usage. */
import { translate } from '@/i18n/translate';
import { messages } from './messages';
import { localTime, timeLeft, urgency } from './time';
import { brief, details, isMemoryScarce } from './usage';
import type { SessionWatch } from './watch';

function put(node: HTMLElement, text: string, title: string): void {
  if (node.textContent !== text) node.textContent = text;
  if (node.title !== title) node.title = title;
}

/** Create the time left as a button, so that it is reachable by keyboard and screen reader. */
export function timeItem(
  watch: SessionWatch,
  open: (button: HTMLElement) => void,
): HTMLButtonElement {
  const button = document.createElement('button');
  button.type = 'button';
  button.className = 'portal-time portal-hidden';
  button.setAttribute('aria-haspopup', 'menu');
  button.addEventListener('click', () => open(button));
  watch.onChange(() => {
    const { facts, leftMs, errorMessage } = watch;
    button.classList.toggle('portal-hidden', facts === null);
    if (facts === null) return;
    button.dataset.urgency = leftMs === null ? 'calm' : urgency(leftMs);
    button.toggleAttribute('data-old', errorMessage !== null);
    const left = timeLeft(facts.session.expires_at, clockOf(watch));
    const text =
      left === null ? messages.noLimit : left.over ? messages.timeUp : messages.left(left.text);
    put(
      button,
      text,
      [translate(errorMessage), endsAt(watch), messages.openMenu].filter(Boolean).join('\n'),
    );
  });
  return button;
}

/** Create the usage item. It is no button, so its details are also given to screen readers. */
export function usageItem(watch: SessionWatch): HTMLElement {
  const node = document.createElement('span');
  node.className = 'portal-use portal-hidden';
  node.setAttribute('role', 'note');
  watch.onChange(() => {
    const text = brief(watch.facts, watch.use);
    node.classList.toggle('portal-hidden', text === '');
    node.toggleAttribute('data-scarce', isMemoryScarce(watch.use));
    put(node, text, details(watch.facts, watch.use));
  });
  return node;
}

/** The portal's current time, estimated from the browser's clock. */
function clockOf({ facts, leftMs }: SessionWatch): number {
  return Date.parse(facts?.session.expires_at ?? '') - (leftMs ?? 0);
}

function endsAt({ facts, browser }: SessionWatch): string | null {
  const end = facts?.session.expires_at;
  return end ? messages.endsAt(localTime(end, browser.now())) : null;
}
