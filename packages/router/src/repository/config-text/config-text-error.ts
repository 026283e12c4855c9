/** The text is not protobuf text format. The only thing the tokenizer and the parser throw. */
export class ConfigTextError extends Error {
  readonly line: number;
  readonly column: number;

  constructor(message: string, line: number, column: number) {
    super(message);
    this.name = 'ConfigTextError';
    this.line = line;
    this.column = column;
  }
}
