import { el } from '../dom.js';

/**
 * A few buttons in one frame, of which some are pressed.
 *
 * @param {string} label
 * @param {[value: string, text: string][]} options
 * @param {(value: string) => void} onChange the button that was pressed
 * @returns {{node: HTMLElement, show: (...chosen: string[]) => void}}
 */
export function createSegmented(label, options, onChange) {
  const buttons = options.map(([value, text]) => el('button', { type: 'button', data: { value }, onClick: () => onChange(value) }, text));
  return {
    node: el('div', { class: 'segmented', role: 'group', 'aria-label': label }, buttons),
    show: (...chosen) => buttons.forEach(button => button.setAttribute('aria-pressed', String(chosen.includes(button.dataset.value ?? '')))),
  };
}
