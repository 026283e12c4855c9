/** The file is not a model that can be read; the message says what is wrong with it. The only error of the reader's own. */
export class OnnxFileError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'OnnxFileError';
  }
}
