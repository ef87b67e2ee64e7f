/** A data file that is missing, altered or unreadable; the message is a sentence that names it. */
export class SliceError extends Error {
  /**
   * @param {string} path of the file, from the site root
   * @param {string} message
   * @param {unknown} [cause]
   * @param {{passing?: boolean}} [options] passing: another attempt may succeed
   */
  constructor(path, message, cause, { passing = false } = {}) {
    super(message, { cause });
    this.name = 'SliceError';
    this.path = path;
    this.passing = passing;
  }
}

/** A data file that is gone because the report was built anew, more than once, since the page was opened. */
export class RebuiltError extends SliceError {
  /**
   * @param {string} path of the file, from the site root
   * @param {unknown} cause
   */
  constructor(path, cause) {
    super(path, 'The report was rebuilt since this page was opened, and the data it was made of are gone: reload it.', cause);
    this.name = 'RebuiltError';
  }
}

/** The page was opened from a file, where a browser refuses to read the files beside it. */
export class FileProtocolError extends Error {
  constructor() {
    super(
      'This page was opened from a file, so the browser does not let it read the data files beside it. ' +
        'Serve the folder to see everything: run "python -m http.server" or "miles-report preview" in it.',
    );
    this.name = 'FileProtocolError';
  }
}
