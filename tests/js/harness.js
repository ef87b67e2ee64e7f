// What tests/browser/test_controls.py drives: the controls, with nothing of a report around them.
import * as dom from '../../templates/js/dom.js';
import { createBrush } from '../../templates/js/marks/brush.js';
import * as download from '../../templates/js/ui/download.js';
import { failure } from '../../templates/js/ui/failure.js';
import { createSelect } from '../../templates/js/ui/menu.js';
import { createPopover } from '../../templates/js/ui/popover.js';
import { createTable } from '../../templates/js/ui/table.js';
import { createTabs } from '../../templates/js/ui/tabs.js';
import { createTooltip } from '../../templates/js/ui/tooltip.js';

window.parts = { ...dom, ...download, createBrush, createPopover, createSelect, createTable, createTabs, createTooltip, failure };
