/** A command could not do what it was asked: one line that says why and what to do, and exit code 1. */
export class CommandFailure extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'CommandFailure';
  }
}
