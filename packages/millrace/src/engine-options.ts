/** Options of `createEngine`, checked at run time: not every caller uses TypeScript, and a misspelt option must not be ignored. */
import { ConfigError, type ConfigProblem } from '@millrace/protocol';
import type { Options } from './config/fields.ts';
import { didYouMean } from './config/suggest.ts';

export interface EngineOptions extends Pick<Options, 'cache' | 'queue' | 'shadow' | 'store' | 'worker'> {
  /** Model repositories and single `.onnx` files. */
  readonly models: string | readonly string[];
  /** Which models are served and how much memory they may take: as `models` in the server's configuration. */
  readonly control?: Omit<NonNullable<Options['models']>, 'paths' | 'exitOnError' | 'strictReadiness'>;
  /**
   * Models that cannot be served. Left out, the others are served, each failure is a process warning, and `createEngine`
   * rejects only when none is left to serve. `false`: one failure rejects `createEngine`. `true`: none does.
   */
  readonly allowFailures?: boolean;
  /** Let `handler` serve management too: anyone who can call it may load, unload and move labels. Off by default. */
  readonly serveManagement?: boolean;
}

const optionNames = Object.keys({
  models: true,
  control: true,
  allowFailures: true,
  serveManagement: true,
  cache: true,
  queue: true,
  shadow: true,
  store: true,
  worker: true,
} satisfies Record<keyof EngineOptions, true>);

/** The paths of the models. Throws a `ConfigError` with every problem. */
export function modelPathsFrom(options: Partial<EngineOptions> | null | undefined): readonly string[] {
  const source = 'createEngine';
  if (options === undefined || options === null) {
    throw new ConfigError([{ source, message: "needs options: createEngine({ models: './models' })" }]);
  }
  const problems: ConfigProblem[] = Object.keys(options)
    .filter((name) => !optionNames.includes(name))
    .map((name) => ({ source, field: name, message: `is not an option.${didYouMean(name, optionNames)}` }));
  const paths: readonly unknown[] = Array.isArray(options.models) ? options.models : [options.models];
  if (paths.length === 0 || !paths.every((path) => typeof path === 'string' && path !== '')) {
    problems.push({
      source,
      field: 'models',
      message: 'must be the path of a model repository or .onnx file, or a list of them',
    });
  }
  if (problems.length > 0) throw new ConfigError(problems);
  return paths as readonly string[];
}
