/** How the caller wants each output written. The data plane knows nothing of this: it is the edge's to remember. */
export interface OutputForm {
  readonly isBinary: boolean;
  /** How many classes to name instead of the tensor itself; 0: the tensor. */
  readonly classes: number;
}

export interface AnswerForm {
  readonly listed: ReadonlyMap<string, OutputForm>;
  /** Of outputs the caller did not list. `binary_data_output` speaks of these and of no others. */
  readonly unlisted: OutputForm;
}

export const jsonForm: OutputForm = { isBinary: false, classes: 0 };
export const binaryForm: OutputForm = { isBinary: true, classes: 0 };

export function formOf(form: AnswerForm, output: string): OutputForm {
  return form.listed.get(output) ?? form.unlisted;
}
