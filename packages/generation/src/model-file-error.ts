/** A file of a model's folder cannot be used; the message names the file, what is wrong in it, and what is expected. */
export class ModelFileError extends Error {
  readonly file: string;

  constructor(file: string, problem: string, options?: ErrorOptions) {
    super(`${file}: ${problem}`, options);
    this.name = 'ModelFileError';
    this.file = file;
  }
}

export type JsonFields = Readonly<Record<string, unknown>>;

/** The object in a JSON file. */
export function parseJsonFile(file: string, text: string): JsonFields {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new ModelFileError(file, `is not JSON (${(error as Error).message})`, { cause: error });
  }
  if (!isJsonFields(value)) throw new ModelFileError(file, 'holds no JSON object');
  return value;
}

export function isJsonFields(value: unknown): value is JsonFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
