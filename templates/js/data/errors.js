/** A data file that is missing, altered or unreadable; the message is a sentence that names it. */
export class SliceError extends Error {
  /**
   * @param {string} path of the file, from the site root
   * @param {string} message
   * @param {unknown} [cause]
   */
  constructor(path, message, cause) {
    super(message, { cause });
    this.name = 'SliceError';
    this.path = path;
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
