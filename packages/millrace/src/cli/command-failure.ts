/** A command failed: its message is one line that says why and what to do; the exit code is 1. */
export class CommandFailure extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CommandFailure';
  }
}
