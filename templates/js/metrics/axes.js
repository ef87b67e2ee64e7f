import { extent } from '../marks/scale.js';

/** Axes that count the same steps. */
const SHARED = new Set(['rollout/step', 'eval/step', '']);

/**
 * Domain of every kind of x axis. Rollout and evaluation steps are one axis; optimiser steps and
 * the axes of adapters run beside it, first to last, so that one cursor and one zoom serve all.
 *
 * @param {{stepKey: string, xs: (number | null)[]}[]} series
 * @param {'step' | 'time'} axis
 * @returns {{domain: (stepKey: string) => [number, number], main: [number, number]}}
 */
export function xDomains(series, axis) {
  /** @type {Map<string, [number, number]>} */
  const domains = new Map();
  for (const { stepKey, xs } of series) {
    const name = axisName(stepKey, axis);
    const range = extent(xs);
    const known = domains.get(name);
    if (range) domains.set(name, known ? [Math.min(known[0], range[0]), Math.max(known[1], range[1])] : range);
  }
  const main = domains.get('rollout') ?? domains.values().next().value ?? [0, 1];
  return { domain: stepKey => domains.get(axisName(stepKey, axis)) ?? main, main };
}

/**
 * @param {string} stepKey
 * @param {'step' | 'time'} axis
 * @returns {string}
 */
function axisName(stepKey, axis) {
  return axis === 'time' || SHARED.has(stepKey) ? 'rollout' : stepKey;
}

/**
 * A value of one axis on another: the same share of the way from first to last.
 *
 * @param {number} value
 * @param {[number, number]} from
 * @param {[number, number]} to
 * @returns {number}
 */
export function carried(value, from, to) {
  if (from[0] === to[0] && from[1] === to[1]) return value;
  const size = from[1] - from[0];
  return size === 0 ? to[0] : to[0] + ((value - from[0]) / size) * (to[1] - to[0]);
}

/**
 * How a metric is drawn and named: the factor from value to axis, and its unit.
 *
 * @param {string} form of its values
 * @param {string} unit
 * @param {[number, number] | null} range of the values
 * @returns {{factor: number, unit: string}}
 */
export function axisUnit(form, unit, range) {
  if (form === 'frac') return { factor: 100, unit: '%' };
  if (form !== 'seconds') return { factor: 1, unit };
  if (!range) return { factor: 1, unit: 's' };
  const largest = Math.max(Math.abs(range[0]), Math.abs(range[1]));
  const spread = range[1] - range[0] || largest;
  if (largest >= 7200 && spread >= 1200) return { factor: 1 / 3600, unit: 'h' };
  if (largest >= 120 && spread >= 20) return { factor: 1 / 60, unit: 'min' };
  return { factor: 1, unit: 's' };
}
