/**
 * What has a row of its own on the time axis: a GPU, or an engine that runs on none.
 *
 * @typedef {import('../types').Frame} Frame
 * @typedef {import('./grammar.js').Lane} Lane
 *
 * @typedef {object} Stay an engine in one place
 * @property {string} addr
 * @property {number | null} rank null also for an external engine, which has -1
 * @property {number} from Unix seconds
 * @property {number} to Infinity where it is still there
 *
 * @typedef {object} Row
 * @property {string} key unique among rows
 * @property {string} title
 * @property {string} detail
 * @property {string} note "" or what marks the lane: trainer and engine on one device
 * @property {Lane | null} lane null where no GPU is known
 * @property {Lane} asked what the words that choose lanes are tested on
 * @property {Stay[]} stays engines on it, in time order
 */

/**
 * @param {Frame} frame the table `lanes`
 * @returns {Lane[]}
 */
export function readLanes({ length, columns }) {
  return Array.from({ length }, (_, i) => ({
    index: columns.index[i], node: columns.node[i], gpu: columns.gpu[i],
    ranks: columns.ranks[i] ?? [], addrs: columns.engine_addrs[i] ?? [], roles: columns.roles[i] ?? [],
  }));
}

/**
 * @param {string} node
 * @param {number} gpu
 * @returns {string} as the topology names a GPU
 */
export function laneKey(node, gpu) {
  return `${node}:${gpu}`;
}

/**
 * @param {Lane[]} lanes
 * @param {Frame} topology
 * @param {Frame} processes the table `process_phases`
 * @returns {Row[]} GPUs in their order, then processes and engines without one
 */
export function rowsOf(lanes, topology, processes) {
  /** @type {Map<string, Stay[]>} */
  const stays = new Map();
  /** @type {Map<string, Stay[]>} */
  const homeless = new Map();
  const { addr, engine_rank: rank, gpus, t0, t1 } = topology.columns;
  for (let i = 0; i < topology.length; i++) {
    const stay = { addr: addr[i], rank: rank[i] !== null && rank[i] >= 0 ? rank[i] : null, from: t0[i], to: t1[i] ?? Infinity };
    const places = gpus[i] ?? [];
    if (!places.length) add(homeless, stay.addr, stay);
    for (const place of places) add(stays, place, stay);
  }
  const rows = lanes.map(lane => gpuRow(lane, joined(stays.get(laneKey(lane.node, lane.gpu)) ?? [])));
  const engines = [...homeless].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, found]) => engineRow(name, joined(found)));
  return [...rows, ...processRows(processes), ...engines];
}

/**
 * @param {Lane} lane
 * @param {Stay[]} stays
 * @returns {Row}
 */
function gpuRow(lane, stays) {
  const engines = [...new Set(stays.map(stay => stay.rank).filter(rank => rank !== null))];
  const names = [
    lane.ranks.length ? `rank ${lane.ranks.join(', ')}` : '',
    engines.length ? `engine ${engines.join(', ')}` : '',
  ].filter(Boolean);
  const place = `${lane.node} gpu ${lane.gpu}`;
  const shared = lane.roles.includes('train') && lane.roles.includes('rollout');
  return {
    key: laneKey(lane.node, lane.gpu), lane, asked: lane, stays,
    title: names[0] ?? place,
    detail: names.length ? [names[1], place].filter(Boolean).join(', ') : '',
    note: shared ? 'train and rollout share it' : '',
  };
}

/**
 * @param {string} addr
 * @param {Stay[]} stays
 * @returns {Row}
 */
function engineRow(addr, stays) {
  const ranks = [...new Set(stays.map(stay => stay.rank).filter(rank => rank !== null))];
  return {
    key: addr, lane: null, stays, asked: { ...NOWHERE, addrs: [addr], roles: ['rollout'] },
    title: ranks.length ? `engine ${ranks.join(', ')}` : 'external engine',
    detail: addr.replace(/^https?:\/\//, ''),
    note: '',
  };
}

/** @type {Lane} */
const NOWHERE = { index: -1, node: '', gpu: -1, ranks: [], addrs: [], roles: [] };

/**
 * @param {string} node
 * @param {number} rank
 * @param {string | null} role
 * @returns {string} key of the row of a process without a GPU
 */
export function processKey(node, rank, role) {
  return `${role ?? ''} ${rank} ${node}`;
}

/**
 * @param {number} rank
 * @param {string | null} role
 * @returns {string} as `process_name` of the build
 */
function processName(rank, role) {
  const words = (role ?? 'process').replaceAll('_', ' ');
  if (rank < 0) return words;
  return role === null || role === 'train' ? `rank ${rank}` : `${words} rank ${rank}`;
}

/**
 * @param {Frame} frame
 * @returns {Row[]} one a process, in the order of the table
 */
function processRows({ length, columns: { node, rank, role } }) {
  /** @type {Map<string, Row>} */
  const found = new Map();
  for (let i = 0; i < length; i++) {
    const key = processKey(node[i], rank[i], role[i]);
    if (found.has(key)) continue;
    const isRank = rank[i] >= 0;
    found.set(key, {
      key, lane: null, stays: [], note: '',
      asked: { ...NOWHERE, node: node[i], ranks: isRank ? [rank[i]] : [], roles: isRank && role[i] ? [role[i]] : [] },
      title: processName(rank[i], role[i]),
      detail: node[i],
    });
  }
  return [...found.values()];
}

/**
 * @param {Map<string, Stay[]>} found
 * @param {string} key
 * @param {Stay} stay
 */
function add(found, key, stay) {
  const known = found.get(key);
  if (known) known.push(stay);
  else found.set(key, [stay]);
}

/**
 * Stays that follow each other without a change are one.
 *
 * @param {Stay[]} stays
 * @returns {Stay[]} by time
 */
export function joined(stays) {
  /** @type {Stay[]} */
  const found = [];
  for (const stay of [...stays].sort((a, b) => a.from - b.from)) {
    const last = found.at(-1);
    if (last && last.addr === stay.addr && last.rank === stay.rank && stay.from <= last.to) last.to = Math.max(last.to, stay.to);
    else found.push({ ...stay });
  }
  return found;
}
