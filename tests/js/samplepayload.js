/**
 * The payload of a small sample: two prompt tokens, two of the response, ids 1 to 4.
 * @param {Record<string, ArrayLike<any>>} tokens columns to add or replace
 * @param {Record<string, any>} sample
 * @param {Record<string, any>} rest
 */
export function payloadOf(tokens = {}, sample = {}, rest = {}) {
  return {
    version: 1,
    facts: { run_name: 'r', start_ts: null, has_tokenizer: true, args: {} },
    sample: {
      step: 0, evaluation: false, row: 0, sample_index: 0, group_index: null, status: 'completed', reward_value: 1, adv_mean: null,
      weight_version: '7', weight_version_min: 7, mixed_version: false, staleness: 0, turns: 1, tool_calls: null, mean_abs_lp_diff: null,
      max_abs_lp_diff: null, alignment_failed: false, remove_sample: false, dumped_rank: 0, response_length: 2, ...sample,
    },
    group: [],
    group_row: null,
    neighbours: { previous: null, next: null },
    response_offset: 2,
    tokens: { token_id: [1, 2, 3, 4], loss_mask: [null, null, 1, 1], ...tokens },
    token_texts: { 1: 'a', 2: 'b', 3: 'c', 4: 'd' },
    conversation: null,
    texts: { prompt: null, response: null },
    spans: [],
    ...rest,
  };
}
