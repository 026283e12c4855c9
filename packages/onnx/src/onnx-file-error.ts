/** The file is not a readable model; the message says what is wrong. The only error that the reader itself throws. */
export class OnnxFileError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'OnnxFileError';
  }
}
