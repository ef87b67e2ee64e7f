/**
 * Where prompt, turns of the model and tool output begin: runs of the loss mask, named from the
 * conversation and the lifecycle where these tell it.
 */

/** @typedef {import('./payload.js').SampleData} SampleData */
/**
 * @typedef {object} Segment
 * @property {'prompt'|'turn'|'masked'|'response'} kind
 * @property {number} start
 * @property {number} end exclusive
 * @property {number} turn 1-based turn of the model, or of the turn before; 0 in the prompt
 * @property {string} label role, turn or tool
 * @property {string} detail tool name, or ''
 * @property {string} version weight version that generated it, or ''
 */

const ROLES = new Set(['system', 'developer', 'user', 'assistant', 'tool', 'observation']);
const OPENER = '<|im_start|>';

/**
 * @param {SampleData} data
 * @returns {Segment[]} without gaps, in order; none for a sample without tokens
 */
export function segmentsOf(data) {
  const prompt = promptSegments(data);
  const response = responseSegments(data);
  nameTools(response, data.conversation?.messages);
  nameVersions(response, data);
  return [...prompt, ...response];
}

/**
 * @param {SampleData} data
 * @returns {Segment[]}
 */
function promptSegments(data) {
  /** @type {Segment[]} */
  const segments = [];
  const end = Math.min(data.offset, data.ids.length);
  for (let i = 0; i < end; i += 1) {
    const role = i === 0 || textOf(data, i) === OPENER ? roleAt(data, i, end) : null;
    if (i > 0 && (role === null || role === 'assistant')) continue;
    const last = segments.at(-1);
    if (last) last.end = i;
    segments.push(make('prompt', i, end, 0, role && role !== 'assistant' ? role : 'prompt'));
  }
  return segments;
}

/**
 * @param {SampleData} data
 * @param {number} index
 * @param {number} end
 * @returns {string|null} role that a chat template announces at the token
 */
function roleAt(data, index, end) {
  if (textOf(data, index) !== OPENER) return null;
  let text = '';
  for (let i = index + 1; i < Math.min(end, index + 12) && !text.includes('\n'); i += 1) {
    text += textOf(data, i) ?? '';
  }
  const role = text.split('\n')[0].trim();
  return ROLES.has(role) && text.includes('\n') ? role : null;
}

/**
 * @param {SampleData} data
 * @returns {Segment[]}
 */
function responseSegments(data) {
  /** @type {Segment[]} */
  const segments = [];
  const { mask, ids, offset } = data;
  let turn = 0;
  for (let start = offset; start < ids.length; ) {
    let end = start + 1;
    while (end < ids.length && mask[end] === mask[start]) end += 1;
    if (mask[start] === 1) {
      turn += 1;
      segments.push(make('turn', start, end, turn, `turn ${turn}`));
    } else if (mask[start] === 0) {
      segments.push(make('masked', start, end, turn, turn > 0 && end < ids.length ? 'tool' : 'masked'));
    } else {
      segments.push(make('response', start, end, turn, 'response'));
    }
    start = end;
  }
  return segments;
}

/**
 * Puts the tools' names on masked runs, if there are as many turns as assistant messages.
 * @param {Segment[]} segments
 * @param {any} messages
 */
function nameTools(segments, messages) {
  const tools = toolsByTurn(messages);
  const turns = segments.filter((segment) => segment.kind === 'turn').length;
  if (tools.length !== turns) return;
  for (const segment of segments) {
    if (segment.kind !== 'masked' || segment.turn === 0) continue;
    const names = tools[segment.turn - 1];
    if (names.length > 0) segment.label = 'tool';
    segment.detail = [...new Set(names)].filter(Boolean).join(', ');
  }
}

/**
 * @param {any} messages
 * @returns {string[][]} for each assistant message the names of the tool results after it
 */
export function toolsByTurn(messages) {
  /** @type {string[][]} */
  const turns = [];
  for (const message of Array.isArray(messages) ? messages : []) {
    if (message?.role === 'assistant') turns.push([]);
    else if (message?.role === 'tool' && turns.length > 0) {
      turns[turns.length - 1].push(typeof message.name === 'string' ? message.name : '');
    }
  }
  return turns;
}

/**
 * @param {Segment[]} segments
 * @param {SampleData} data
 */
function nameVersions(segments, data) {
  const byTurn = new Map(
    data.spans
      .filter((span) => span.kind === 'gen' && span.turn > 0 && span.weight_version)
      .map((span) => [span.turn, span.weight_version]),
  );
  const single = data.sample.mixed_version === false ? data.sample.weight_version : null;
  for (const segment of segments) {
    if (segment.kind !== 'turn') continue;
    segment.version = byTurn.get(segment.turn) ?? single ?? '';
  }
}

/**
 * @param {Segment['kind']} kind
 * @param {number} start
 * @param {number} end
 * @param {number} turn
 * @param {string} label
 * @returns {Segment}
 */
function make(kind, start, end, turn, label) {
  return { kind, start, end, turn, label, detail: '', version: '' };
}

/**
 * @param {SampleData} data
 * @param {number} index
 * @returns {string|null}
 */
function textOf(data, index) {
  return data.texts.get(data.ids[index]) ?? null;
}

/**
 * @param {Segment[]} segments
 * @param {number} position
 * @returns {number} index of the segment that holds the token
 */
export function segmentAt(segments, position) {
  let low = 0;
  let high = segments.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (segments[middle].start <= position) low = middle;
    else high = middle - 1;
  }
  return low;
}
