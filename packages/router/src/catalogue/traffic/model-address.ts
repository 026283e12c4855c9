/** How requests name what they want: `model`, `model:version` or `model@label`, and a version beside it. */
import { InferenceError } from '@millrace/protocol';

export interface ModelAddress {
  readonly model: string;
  /** Empty: none was named. */
  readonly version: string;
  /** Empty: none was named. */
  readonly label: string;
}

export const labelLengthMax = 64;
const labelForm = /^[A-Za-z0-9_.-]+$/;
const numberForm = /^[0-9]+$/;

/** What is wrong with a label, or undefined. A number would be taken for a version. */
export function labelProblem(label: string): string | undefined {
  if (label.length > labelLengthMax) return `is longer than ${labelLengthMax} characters`;
  if (numberForm.test(label)) return 'is a number, which names a version';
  return labelForm.test(label) ? undefined : 'must consist of letters, digits, _ . and -';
}

/** Most names are plain and need no parsing. No model has such a character in its name. */
export function isPlainName(name: string): boolean {
  return !name.includes('@') && !name.includes(':');
}

/** Throws `invalid-request` for a contradictory name. */
export function addressFrom(name: string, version: string): ModelAddress {
  const labelMark = name.indexOf('@');
  const versionMark = name.indexOf(':');
  if (labelMark < 0 && versionMark < 0) return { model: name, version, label: '' };
  if (labelMark >= 0 && versionMark >= 0) {
    throw invalid(`'${name}' has both a version and a label; write 'model:version' or 'model@label'`);
  }
  const mark = Math.max(labelMark, versionMark);
  const model = name.slice(0, mark);
  const rest = name.slice(mark + 1);
  if (labelMark >= 0) {
    const problem = labelProblem(rest);
    if (problem !== undefined) throw invalid(`the label '${rest}' in '${name}' ${problem}`);
    return { model, version, label: rest };
  }
  if (!numberForm.test(rest))
    throw invalid(`'${name}' has no version after the colon; write for instance '${model}:1'`);
  if (version !== '' && version !== rest) {
    throw invalid(`the request names two versions of '${model}': ${rest} in its name and ${version} beside it`);
  }
  return { model, version: rest, label: '' };
}

function invalid(message: string): InferenceError {
  return new InferenceError('invalid-request', message);
}
