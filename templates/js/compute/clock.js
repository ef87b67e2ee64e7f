import { elapsed, utc } from '../format.js';

/** @typedef {import('./window.js').Span} Span */

const STEPS = [1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10_800, 21_600, 43_200, 86_400];
const DAY = 86_400;

/**
 * Round moments of a window: whole seconds since the start of the run, or of the clock.
 *
 * @param {Span} span Unix seconds
 * @param {number} zero start of the run; 0 for the clock
 * @param {number} most at most so many
 * @returns {{time: number, step: number}[]} step: seconds from one to the next
 */
export function clockTicks([from, to], zero, most) {
  const rough = (to - from) / Math.max(1, most);
  const step = STEPS.find(one => one >= rough) ?? Math.ceil(rough / DAY) * DAY;
  const ticks = [];
  for (let time = Math.ceil((from - zero) / step - 1e-9) * step + zero; time <= to + 1e-6; time += step) ticks.push({ time, step });
  return ticks;
}

/**
 * A moment as the axis writes it.
 *
 * @param {number} time Unix seconds
 * @param {number} zero start of the run; 0 for the clock
 * @param {number} step seconds between labels: whole minutes go without seconds
 * @returns {string}
 */
export function tickText(time, zero, step) {
  const text = zero ? elapsed(Math.round(time - zero)) : utc(Math.round(time)).slice(11, 19);
  if (step >= DAY && !zero) return utc(time).slice(5, 10);
  return step % 60 === 0 ? text.replace(/:\d\d$/, '') : text;
}

/**
 * A moment in full.
 *
 * @param {number} time Unix seconds
 * @param {number} zero start of the run; 0 for the clock
 * @param {boolean} [fine] with tenths of a second
 * @returns {string}
 */
export function momentText(time, zero, fine = false) {
  const tenth = fine ? `.${Math.floor((((time - zero) % 1) + 1) % 1 * 10)}` : '';
  if (zero) return elapsed(time - zero) + tenth;
  return fine ? utc(time).replace(' UTC', `${tenth} UTC`) : utc(time);
}
