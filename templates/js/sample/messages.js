/**
 * Recorded messages as blocks to show. Nothing is interpreted as markup, nothing is left out: what a
 * reader of this format would not expect is shown as JSON. The page's own template does the same
 * (`pages/sample_conversation.py`); both are held to tests/js/conversation_cases.json.
 */

/**
 * @typedef {object} Block
 * @property {'text'|'thinking'|'call'|'image'|'other'} kind
 * @property {string} text
 * @property {string} name tool or key, why an image is absent; '' without one
 * @property {string} id tool call id; ''
 * @property {string} argument name of the argument whose text is shown, where a call has only that; ''
 */
/**
 * @typedef {object} Entry
 * @property {string} role as recorded; '' when there is none
 * @property {string} name of the tool or the speaker
 * @property {string} callId call that a tool result answers
 * @property {Block[]} blocks
 * @property {string} raw the message as JSON, or its text
 */

const SHOWN_KEYS = new Set(['role', 'name', 'content', 'reasoning_content', 'tool_calls', 'tool_call_id']);
const THINKING = /<think>([\s\S]*?)(?:<\/think>|$)/;
const IMAGE = /^data:image\/(?:png|jpeg|gif|webp|bmp);base64,[A-Za-z0-9+/=\s]+$/i;
const SIGNATURE = /^[^,]+,(?:iVBORw0KGgo|\/9j\/|R0lGOD|UklGR|Qk)/; // how files of these kinds begin, in base64

/**
 * @param {any} messages a list of messages, or whatever was recorded in its place
 * @returns {Entry[]}
 */
export function entriesOf(messages) {
  if (messages === null || messages === undefined) return [];
  return (Array.isArray(messages) ? messages : [messages]).map(entryOf);
}

/**
 * @param {any} message
 * @returns {Entry}
 */
function entryOf(message) {
  if (message === null || typeof message !== 'object' || Array.isArray(message)) {
    const text = typeof message === 'string' ? message : pretty(message);
    return { role: '', name: '', callId: '', blocks: [block('text', text)], raw: text };
  }
  const role = typeof message.role === 'string' ? message.role : pretty(message.role ?? null);
  return {
    role: message.role === undefined ? '' : role,
    name: typeof message.name === 'string' ? message.name : '',
    callId: typeof message.tool_call_id === 'string' ? message.tool_call_id : '',
    blocks: [
      ...reasoning(message.reasoning_content),
      ...contents(message.content, role === 'assistant'),
      ...calls(message.tool_calls),
      ...others(message),
    ],
    raw: pretty(message),
  };
}

/**
 * @param {any} value
 * @returns {Block[]}
 */
function reasoning(value) {
  if (value === null || value === undefined || value === '') return [];
  return [block('thinking', typeof value === 'string' ? value : pretty(value))];
}

/**
 * @param {any} content string, null, or list of parts
 * @param {boolean} split whether inline thinking is split out
 * @returns {Block[]}
 */
function contents(content, split) {
  if (content === null || content === undefined || content === '') return [];
  if (typeof content === 'string') return split ? thinkingIn(content) : [block('text', content)];
  if (!Array.isArray(content)) return [block('other', pretty(content), 'content')];
  return content.flatMap((part) => partOf(part, split));
}

/**
 * @param {any} part
 * @param {boolean} split
 * @returns {Block[]}
 */
function partOf(part, split) {
  if (typeof part === 'string') return contents(part, split);
  if (part === null || typeof part !== 'object') return [block('other', pretty(part), 'part')];
  if (typeof part.text === 'string' && (part.type === 'text' || part.type === undefined)) {
    return contents(part.text, split);
  }
  if (typeof part.type === 'string' && part.type.startsWith('image')) {
    const source = part.image_url?.url ?? part.image_url ?? part.image ?? part.url;
    if (typeof source !== 'string' || !IMAGE.test(source)) return [block('image', '', 'not recorded')];
    return [SIGNATURE.test(source) ? block('image', source) : block('image', '', 'not readable')];
  }
  return [block('other', pretty(part), typeof part.type === 'string' ? part.type : 'part')];
}

/**
 * @param {string} text
 * @returns {Block[]} text with inline <think>…</think> apart; an unclosed one runs to the end
 */
function thinkingIn(text) {
  /** @type {Block[]} */
  const blocks = [];
  let rest = text;
  for (let match = THINKING.exec(rest); match; match = THINKING.exec(rest)) {
    addText(blocks, rest.slice(0, match.index));
    blocks.push(block('thinking', match[1].trim()));
    rest = rest.slice(match.index + match[0].length);
  }
  addText(blocks, rest);
  return blocks;
}

/**
 * @param {Block[]} blocks
 * @param {string} text
 */
function addText(blocks, text) {
  if (text.trim() !== '') blocks.push(block('text', text.trim()));
}

/**
 * @param {any} value
 * @returns {Block[]}
 */
function calls(value) {
  if (value === null || value === undefined) return [];
  if (!Array.isArray(value)) return [block('other', pretty(value), 'tool_calls')];
  return value.map((call) => {
    const called = call?.function ?? call;
    if (called === null || typeof called !== 'object' || typeof called.name !== 'string') {
      return block('other', pretty(call), 'tool call');
    }
    return {
      ...block('call', '', called.name),
      ...readArguments(called.arguments),
      id: typeof call.id === 'string' ? call.id : '',
    };
  });
}

/**
 * @param {any} value JSON text in most records, an object in some
 * @returns {{text: string, argument: string}} the only argument as its own text, else indented JSON;
 *   text that is no JSON as it is
 */
export function readArguments(value) {
  let parsed = value;
  if (typeof value === 'string') {
    try {
      parsed = JSON.parse(value);
    } catch {
      return { text: value, argument: '' };
    }
  }
  if (parsed === null || parsed === undefined) return { text: '', argument: '' };
  if (typeof parsed === 'string') return { text: parsed, argument: '' };
  const names = typeof parsed === 'object' && !Array.isArray(parsed) ? Object.keys(parsed) : [];
  if (names.length === 1 && typeof parsed[names[0]] === 'string') {
    return { text: parsed[names[0]], argument: names[0] };
  }
  return { text: pretty(parsed), argument: '' };
}

/**
 * @param {Record<string, any>} message
 * @returns {Block[]}
 */
function others(message) {
  return Object.keys(message)
    .filter((key) => !SHOWN_KEYS.has(key) && message[key] !== null)
    .map((key) => block('other', pretty(message[key]), key));
}

/**
 * @param {any} value
 * @returns {string}
 */
function pretty(value) {
  return JSON.stringify(value, null, 2) ?? 'null';
}

/**
 * @param {Block['kind']} kind
 * @param {string} text
 * @param {string} [name]
 * @returns {Block}
 */
function block(kind, text, name = '') {
  return { kind, text, name, id: '', argument: '' };
}

/**
 * Tools that a conversation offers: from a `tools` key, or a <tools> block of the system message.
 * @param {Entry[]} entries
 * @returns {{name: string, parameters: string[], schema: string}[]}
 */
export function toolsOffered(entries) {
  const system = entries.find((entry) => entry.role === 'system');
  const text = system?.blocks.map((one) => one.text).join('\n') ?? '';
  const body = /<tools>([\s\S]*?)<\/tools>/.exec(text)?.[1] ?? '';
  return body
    .split('\n')
    .map(toolOf)
    .filter((tool) => tool !== null);
}

/**
 * @param {string} line one JSON object
 * @returns {{name: string, parameters: string[], schema: string}|null}
 */
function toolOf(line) {
  try {
    const parsed = JSON.parse(line);
    const tool = parsed.function ?? parsed;
    if (typeof tool.name !== 'string') return null;
    const properties = Object.entries(tool.parameters?.properties ?? {});
    return {
      name: tool.name,
      parameters: properties.map(([key, value]) => `${key}: ${/** @type {any} */ (value)?.type ?? 'any'}`),
      schema: pretty(parsed),
    };
  } catch {
    return null;
  }
}
