/** Reads the declared inputs and outputs of a pipeline in a process of its own: the router never runs user code. */
import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { isDatatype, type TensorSpec } from '@millrace/protocol';

/** A module that takes longer to load is a problem, and its process is ended. */
const describeMsMax = 20_000;
/** More than any declaration needs. */
const descriptionBytesMax = 1024 * 1024;

const answerPosition = 3;
const reasonCharactersMax = 1000;

export interface PipelineDescription {
  /** Undefined: the configuration must say. */
  readonly inputs?: readonly TensorSpec[];
  readonly outputs?: readonly TensorSpec[];
  readonly maxBatchSize?: number;
  /** It answers a request any number of times. */
  readonly decoupled?: boolean;
}

export type Described = { readonly description: PipelineDescription } | { readonly problem: string };
export type DescribePipeline = (path: string) => Promise<Described>;

export interface DescriberOptions {
  /** What `@millrace/worker/pipeline-describe` resolves to. */
  readonly programPath: string;
  readonly msMax?: number;
  /** Starts the processes; Node's own unless given. */
  readonly spawn?: typeof spawn;
}

/** Never rejects: a failure is the `problem` of the result. */
export function createPipelineDescriber(options: DescriberOptions): DescribePipeline {
  const { programPath, msMax = describeMsMax } = options;
  const start = options.spawn ?? spawn;
  return (path) =>
    new Promise((resolve) => {
      const child = start(process.execPath, [programPath], {
        stdio: ['pipe', 'ignore', 'pipe', 'pipe'],
        env: {},
      });
      // The outcome is read from the output and the exit status.
      child.stdin?.on('error', () => {}).end(path);
      let answer = '';
      let standardError = '';
      let isLate = false;
      const timer = setTimeout(() => {
        isLate = true;
        child.kill('SIGKILL');
      }, msMax);
      (child.stdio[answerPosition] as Readable).setEncoding('utf8').on('data', (text: string) => {
        answer += text;
        if (answer.length > descriptionBytesMax) child.kill('SIGKILL');
      });
      child.stderr?.setEncoding('utf8').on('data', (text: string) => {
        standardError = (standardError + text).slice(-reasonCharactersMax);
      });
      child.on('error', (error) => {
        clearTimeout(timer);
        resolve({ problem: `a process to load it could not be started: ${error.message}` });
      });
      child.on('close', (code, signal) => {
        clearTimeout(timer);
        if (isLate)
          resolve({
            problem: `was not loaded within ${msMax / 1000} s; move slow work from the top level of the module into its functions`,
          });
        else resolve(describedFrom(answer) ?? { problem: endOf(code, signal, standardError) });
      });
    });
}

function endOf(code: number | null, signal: string | null, standardError: string): string {
  const how = signal === null ? `exit code ${code}` : `signal ${signal}`;
  // Without the stack frames and the Node.js version line below them.
  const lines = standardError.split('\n').filter((line) => line.trim() !== '' && !/^\s*at |^Node\.js v/.test(line));
  const last = lines.slice(-2).join(' | ');
  return `ended the process that loaded it (${how})${last === '' ? '' : `: ${last}`}`;
}

/** User code shares the process that writes this, so it is validated like any external input. */
function describedFrom(json: string): Described | undefined {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return undefined;
  }
  const { problem, declaration } = (value ?? {}) as { problem?: unknown; declaration?: Record<string, unknown> };
  if (typeof problem === 'string') return { problem };
  if (typeof declaration !== 'object' || declaration === null) return undefined;
  const { inputs, outputs, maxBatchSize, decoupled } = declaration;
  const isRight =
    (inputs === undefined || isSpecList(inputs)) &&
    (outputs === undefined || isSpecList(outputs)) &&
    (maxBatchSize === undefined || Number.isSafeInteger(maxBatchSize)) &&
    (decoupled === undefined || typeof decoupled === 'boolean');
  return isRight ? { description: declaration as PipelineDescription } : undefined;
}

function isSpecList(value: unknown): value is readonly TensorSpec[] {
  return Array.isArray(value) && value.every(isSpec);
}

function isSpec(value: unknown): boolean {
  const { name, datatype, shape } = (value ?? {}) as Record<string, unknown>;
  const isNamed = typeof name === 'string' && typeof datatype === 'string' && isDatatype(datatype);
  return isNamed && Array.isArray(shape) && shape.every((size) => Number.isSafeInteger(size));
}
