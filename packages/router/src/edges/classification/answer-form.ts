/** The form in which the caller wants each output. Kept by the edge; the data plane does not know it. */
export interface OutputForm {
  readonly isBinary: boolean;
  /** How many classes to name instead of the tensor itself; 0: the tensor. */
  readonly classes: number;
}

export interface AnswerForm {
  readonly listed: ReadonlyMap<string, OutputForm>;
  /** For outputs the caller did not list; `binary_data_output` applies to these only. */
  readonly unlisted: OutputForm;
}

export const jsonForm: OutputForm = { isBinary: false, classes: 0 };
export const binaryForm: OutputForm = { isBinary: true, classes: 0 };

export function formOf(form: AnswerForm, output: string): OutputForm {
  return form.listed.get(output) ?? form.unlisted;
}
