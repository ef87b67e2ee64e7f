import { mount as compute } from './views/compute.js';
import { mount as glossary } from './views/glossary.js';
import { mount as index } from './views/index.js';
import { mount as metrics } from './views/metrics.js';
import { mount as rollouts } from './views/rollouts.js';
import { mount as sample } from './views/sample.js';
import { mount as step } from './views/step.js';

/** Views by the name in `data-view`. @type {Record<string, import('./types').Mount>} */
export const VIEWS = { compute, glossary, index, metrics, rollouts, sample, step };
