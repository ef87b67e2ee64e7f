/** The shapes that the parts of the browser code hand to each other. */

/** A table read in the page: one array a column, all of one length. Nulls are null, never NaN. */
export interface Frame {
  length: number;
  names: string[];
  columns: Record<string, ArrayLike<any>>;
}

/** One Parquet file of the site, as the catalogue names it. */
export interface Slice {
  /** from the site root */
  path: string;
  bytes: number;
  sha256: string;
  rows: number;
  columns: string[];
  /** smallest and largest value of its key columns */
  keys: Record<string, [number, number]>;
}

/** A step as the root catalogue lists it. */
export interface StepEntry {
  step: number;
  evaluation: boolean;
  state: string;
  catalog: { path: string; bytes: number; sha256: string } | null;
}

/** A catalogue: of the run, or of one step. */
export interface Catalog {
  /** run-wide facts (root catalogue) or what a step page may know of the run */
  facts: Record<string, any>;
  steps: StepEntry[];
  /** files of a table; none for a table that is not there */
  slices(table: string): Slice[];
  /** the catalogue of one step; rejects with a SliceError if the step has none */
  step(step: number, evaluation: boolean): Promise<Catalog>;
}

export interface UrlState {
  get(name: string): string | null;
  get(name: string, fallback: string): string;
  /** null removes the key; `push` makes an entry for the back button */
  set(changes: Record<string, string | null>, options?: { push?: boolean }): void;
  /** told of every change, by `set` and by the back button; returns the way to stop */
  onChange(listener: () => void): () => void;
  /** the link of what is shown now */
  href(): string;
}

export interface Param<T> {
  get(): T;
  /** tells its subscribers only of a changed value */
  set(value: T): void;
  subscribe(listener: (value: T) => void): () => void;
}

export interface Log {
  warn(message: string, cause?: unknown): void;
}

/** What a view is given; nothing else of the page is global. */
export interface Context {
  /** JSON that the build put into the page */
  page: any;
  /** "" or "../": the way to the site root */
  root: string;
  /** address, relative to this page, of a path from the site root */
  href(path: string): string;
  /** path from the site root of a bundled file by its logical name ("vega.js"); null if not there */
  asset(name: string): string | null;
  /** the page's own catalogue, fetched once unless that fails; rejects with SliceError or FileProtocolError */
  catalog(): Promise<Catalog>;
  url: UrlState;
  log: Log;
  /** the page was opened from a file, where no data can be fetched */
  fileProtocol: boolean;
  /** decoders beyond snappy, by codec name; only in the sample bundle */
  codecs: Record<string, (input: Uint8Array, length: number) => Uint8Array>;
  /** fetched and decoded files by path */
  cache: Map<string, Promise<any>>;
  /** replaced in tests */
  fetch(path: string): Promise<ArrayBuffer>;
  /** whether the report was built anew since this page was opened; asks the server */
  rebuilt(): Promise<boolean>;
}

export type Mount = (root: HTMLElement, context: Context) => () => void;

/** data -> pixels, with the way back */
export interface Scale {
  (value: number): number;
  invert(pixel: number): number;
  domain: [number, number];
  range: [number, number];
  kind: 'linear' | 'log' | 'time';
  ticks(count?: number): number[];
}
