import { decompress } from 'fzstd';
import { start } from './start.js';

start({ ZSTD: (input, length) => decompress(input, new Uint8Array(length)) });
