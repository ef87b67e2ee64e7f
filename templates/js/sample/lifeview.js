/** Draws the lifecycle strip: what the request did, over time. */

import { el, fill } from '../dom.js';
import { elapsed, plural, seconds, utc } from '../format.js';
import { versionSteps } from '../marks/versions.js';
import { timeTicks } from './lifecycle.js';
import { versionName } from './head.js';

/** @typedef {import('./lifecycle.js').Life} Life */
/** @typedef {import('./lifecycle.js').Strip} Strip */

const LABEL_GAP = 8;
const CHARACTER = 6.6; // mean width of a 12 px character, to choose which labels fit
const WORDS = { queued: 'queued', gen: 'generating', tool: 'tool' };

/**
 * @param {HTMLElement} host
 * @param {Life} life
 * @param {number|null} startTs start of the run
 * @returns {() => void} dispose
 */
export function drawLife(host, life, startTs) {
  const span = life.end - life.start;
  host.className = 'life';
  host.setAttribute('role', 'img');
  host.setAttribute('aria-label', spoken(life));
  const labels = el('div', { class: 'life-labels' });
  const steps = versionSteps(life.strips.map((strip) => strip.version));
  const band = el('div', { class: 'life-band' }, life.strips.map((strip) => bandOf(strip, life, steps.get(strip.version) ?? 0)));
  const axis = el('div', { class: 'life-axis' });
  fill(host, labels, band, axis);

  function place() {
    const width = host.clientWidth;
    fill(labels, labelsThatFit(life, width));
    const ticks = timeTicks(span, Math.max(2, Math.floor(width / 180)));
    const start = startTs === null ? utc(life.start) : elapsed(life.start - startTs);
    const room = start.length * CHARACTER + 12;
    fill(
      axis,
      el('span', { class: 'life-start', title: utc(life.start) }, start),
      ticks
        .filter((tick) => (tick / span) * width > room && (tick / span) * width < width - 72)
        .map((tick) => el('span', { style: { left: `${(100 * tick) / span}%` } }, seconds(tick))),
      el('span', { class: 'life-end', title: utc(life.end) }, `${seconds(span)} in all`),
    );
  }

  const observer = new ResizeObserver(place);
  observer.observe(host);
  place();
  return () => observer.disconnect();
}

/**
 * @param {Strip} strip
 * @param {Life} life
 * @param {number} step of hue, by weight version
 * @returns {HTMLElement}
 */
function bandOf(strip, life, step) {
  const span = life.end - life.start || 1;
  return el('i', {
    class: strip.kind === 'gen' && step ? `life-gen step-${step}` : `life-${strip.kind}`,
    title: `${wordsOf(strip)}: ${seconds(strip.end - strip.start)}${strip.open ? ', no end recorded' : ''}`,
    style: {
      left: `${(100 * (strip.start - life.start)) / span}%`,
      width: `${(100 * (strip.end - strip.start)) / span}%`,
    },
  });
}

/**
 * @param {Strip} strip
 * @returns {string}
 */
function wordsOf(strip) {
  const turn = strip.turn > 0 ? ` in turn ${strip.turn}` : '';
  const version = strip.version ? ` with ${versionName(strip.version)}` : '';
  return WORDS[strip.kind] + turn + version;
}

/**
 * @param {Life} life
 * @param {number} width
 * @returns {HTMLElement[]} labels that do not run into each other; the longest strips first
 */
function labelsThatFit(life, width) {
  const span = life.end - life.start || 1;
  /** @type {{from: number, to: number}[]} */
  const taken = [];
  const ranked = [...life.strips].sort((a, b) => b.end - b.start - (a.end - a.start));
  /** @type {{left: number, label: string}[]} */
  const labels = [];
  for (const strip of ranked) {
    const left = ((strip.start - life.start) / span) * width;
    const label = variants(strip).find((text) => {
      const to = left + text.length * CHARACTER + LABEL_GAP;
      return to <= width + LABEL_GAP && taken.every((one) => to <= one.from || left >= one.to);
    });
    if (!label) continue;
    taken.push({ from: left, to: left + label.length * CHARACTER + LABEL_GAP });
    labels.push({ left, label });
  }
  return labels
    .sort((a, b) => a.left - b.left)
    .map(({ left, label }) => el('span', { style: { left: `${(100 * left) / width}%` } }, label));
}

/**
 * @param {Strip} strip
 * @returns {string[]} labels from full to short
 */
function variants(strip) {
  const time = seconds(strip.end - strip.start);
  if (strip.kind === 'queued') return [`queued ${time}`, 'queued'];
  if (strip.kind === 'tool') return [`tool ${time}`, 'tool'];
  const version = strip.version ? `, ${versionName(strip.version)}` : '';
  if (strip.turn === 0) return [`generating${version}`, 'generating'];
  return [`turn ${strip.turn}${version}`, `turn ${strip.turn}`, String(strip.turn)];
}

/**
 * @param {Life} life
 * @returns {string}
 */
function spoken(life) {
  const parts = /** @type {const} */ (['queued', 'gen', 'tool']).map((kind) => {
    const time = life.strips
      .filter((strip) => strip.kind === kind)
      .reduce((sum, strip) => sum + strip.end - strip.start, 0);
    return `${WORDS[kind]} ${seconds(time)}`;
  });
  const attempts = life.attempts > 1 ? `, ${plural(life.attempts, 'attempt')}` : '';
  return `Lifecycle, ${seconds(life.end - life.start)}: ${parts.join(', ')}${attempts}`;
}
