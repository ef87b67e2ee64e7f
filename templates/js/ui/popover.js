import { el, on } from '../dom.js';
import { place } from './place.js';

/**
 * A box that a button opens: Escape or a press outside closes it, focus returns to the button.
 *
 * @param {HTMLElement} button gets aria-expanded and aria-haspopup
 * @param {(box: HTMLElement, close: () => void) => void} build fills the box, each time it opens
 * @param {{align?: 'start' | 'end', label?: string, class?: string, role?: string, onClose?: () => void}} [options]
 * @returns {{open: () => void, close: () => void, place: () => void, isOpen: () => boolean, dispose: () => void}}
 */
export function createPopover(button, build, { align = 'start', label = '', class: name = '', role = 'dialog', onClose } = {}) {
  const box = el('div', { class: `popover ${name}`.trim(), role, 'aria-label': label || null, tabindex: -1 });
  /** @type {(() => void)[]} */
  let offs = [];
  button.setAttribute('aria-expanded', 'false');
  button.setAttribute('aria-haspopup', role);

  const isOpen = () => box.isConnected;
  const put = () => {
    box.style.maxHeight = '';
    const frame = { width: document.documentElement.clientWidth, height: window.innerHeight };
    const size = { width: box.offsetWidth, height: box.scrollHeight + 2 };
    const at = place(button.getBoundingClientRect(), size, frame, { align });
    box.style.left = `${at.left}px`;
    box.style.top = `${at.top}px`;
    box.style.maxHeight = `${at.height}px`;
  };
  const close = () => {
    if (!isOpen()) return;
    const inside = box.contains(document.activeElement);
    offs.forEach(off => off());
    offs = [];
    box.remove();
    button.setAttribute('aria-expanded', 'false');
    if (inside) button.focus();
    onClose?.();
  };
  const open = () => {
    if (isOpen()) return;
    box.replaceChildren();
    button.after(box);
    build(box, close);
    put();
    button.setAttribute('aria-expanded', 'true');
    offs = [
      on(document, 'pointerdown', event => {
        if (!box.contains(event.target) && !button.contains(event.target)) close();
      }, { capture: true }),
      on(document, 'keydown', event => {
        if (event.key !== 'Escape') return;
        event.stopPropagation();
        close();
      }, { capture: true }),
      on(window, 'resize', put),
      on(window, 'scroll', event => {
        if (!box.contains(event.target)) put();
      }, { capture: true, passive: true }),
    ];
    const first = /** @type {HTMLElement | null} */ (box.querySelector('input, button, [tabindex="0"], a[href]'));
    (first ?? box).focus({ preventScroll: true });
  };
  const off = on(button, 'click', () => (isOpen() ? close() : open()));
  return {
    open,
    close,
    place: put,
    isOpen,
    dispose() {
      close();
      off();
    },
  };
}
