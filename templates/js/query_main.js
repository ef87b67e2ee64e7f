import { decompress } from 'fzstd';
import { start } from './start.js';
import { mount as query } from './views/query.js';

start({ ZSTD: (input, length) => decompress(input, new Uint8Array(length)) }, { query });
