/**
 * What a person sees when the server starts: name, addresses, a line for each model as it becomes ready, and a command
 * to paste. Lines are only ever added, so log lines may come between them.
 */
import type { TensorSpec } from '@millrace/protocol';
import type { Config } from '../config/fields.ts';
import type { RunningServer, ServedModelStatus } from '../running-server.ts';
import { type Paint, paintOf, type Terminal } from '../terminal.ts';
import { exampleCommand } from './example-request.ts';

const tensorsShownMax = 4;
const namesShownMax = 6;

type RepositoryChoice = Pick<Config['models'], 'paths' | 'controlMode'>;

export class StartScreen {
  readonly #terminal: Terminal;
  readonly #paint: Paint;
  readonly #server: RunningServer;
  readonly #repository: RepositoryChoice;
  readonly #shownStates = new Map<string, ServedModelStatus['state']>();
  #nameWidth = 0;
  #phase: 'starting' | 'started' = 'starting';

  constructor(terminal: Terminal, server: RunningServer, repository: RepositoryChoice) {
    this.#repository = repository;
    this.#terminal = terminal;
    this.#paint = paintOf(terminal);
    this.#server = server;
  }

  begin(version: string): void {
    const paint = this.#paint;
    const { managementUrl, notices } = this.#server;
    this.#lines(
      '',
      `  ${paint('bold', 'Millrace')} ${paint('dim', version)}`,
      '',
      `  ${paint('dim', 'API')}      ${paint('cyan', this.#server.httpUrl)}${this.#boundText()}`,
      `  ${paint('dim', 'gRPC')}     ${paint('cyan', this.#server.grpcUrl)}`,
      `  ${paint('dim', 'Metrics')}  ${paint('cyan', this.#server.metricsUrl)}`,
      ...(managementUrl === undefined ? [] : [`  ${paint('dim', 'Manage')}   ${paint('cyan', managementUrl)}`]),
      '',
      ...notices.map(({ message, host, advice }) => `  ${paint('yellow', `! ${message}`)} (${host}): ${advice}`),
      ...(notices.length === 0 ? [] : ['']),
    );
    const loading = this.#server.models().filter((model) => model.state === 'loading');
    if (loading.length > 0) {
      this.#lines(`  ${paint('dim', `loading ${namesText(loading.map(titleOf))}`)}`, '');
    }
    this.update();
  }

  /** Where the server is bound to other addresses than that of its URL. */
  #boundText(): string {
    const { host } = this.#server;
    return host === '0.0.0.0' || host === '::' ? this.#paint('dim', `  (all addresses: ${host})`) : '';
  }

  /** Shows the models that became ready or failed since the last call and, once none is loading, an example command. */
  update(): void {
    const models = this.#server.models();
    this.#nameWidth = Math.max(this.#nameWidth, ...models.map((model) => titleOf(model).length));
    const titles = new Set(models.map(titleOf));
    for (const title of this.#shownStates.keys()) if (!titles.has(title)) this.#shownStates.delete(title);
    for (const model of models) {
      const title = titleOf(model);
      if (this.#shownStates.get(title) === model.state) continue;
      this.#shownStates.set(title, model.state);
      if (model.state !== 'loading') this.#lines(this.#modelLine(model));
    }
    if (this.#phase === 'starting' && models.every((model) => model.state !== 'loading')) this.#complete(models);
  }

  stopping(signal: string, drainSecondsMax: number): void {
    const again = this.#paint('dim', 'again to stop at once');
    this.#lines('', `  ${signal}: finishing requests in progress, at most ${drainSecondsMax} s; ${again}`);
  }

  #complete(models: readonly ServedModelStatus[]): void {
    this.#phase = 'started';
    const command = exampleCommand(this.#server.httpUrl, models);
    const paint = this.#paint;
    if (models.length === 0) {
      const [state, advice] = noModelsText(this.#repository);
      this.#lines(`  ${paint('yellow', state)}`, `  ${advice}`);
    } else if (command === undefined) this.#lines('', `  ${paint('yellow', 'No model is ready to answer.')}`);
    else this.#lines('', `  ${paint('dim', 'Try it')}`, `  ${command}`);
    this.#lines('', `  ${paint('dim', 'Ctrl-C stops the server.')}`, '');
  }

  #modelLine(model: ServedModelStatus): string {
    const paint = this.#paint;
    const title = titleOf(model).padEnd(this.#nameWidth);
    if (model.state === 'failed') return `  ${paint('red', '✗')} ${title}  ${paint('red', model.reason)}`;
    if (model.state === 'unloading') return `  ${paint('yellow', '–')} ${title}  ${paint('dim', 'unloading')}`;
    if (model.state === 'evicted')
      return `  ${paint('yellow', '–')} ${title}  ${paint('dim', 'not in memory; loaded on demand')}`;
    const time = model.loadMs === undefined ? '' : loadTimeText(model.loadMs);
    const shapes = `${tensorsText(model.inputs)} ${paint('dim', '→')} ${tensorsText(model.outputs)}`;
    return `  ${paint('green', '✓')} ${title}  ${paint('dim', time.padStart(7))}  ${shapes}`;
  }

  #lines(...lines: string[]): void {
    this.#terminal.write(`${lines.join('\n')}\n`);
  }
}

/** What is missing, and how to add a model to a server that has none. */
function noModelsText({ paths, controlMode }: RepositoryChoice): readonly [string, string] {
  if (controlMode === 'explicit') return ['No model is loaded.', 'Load one with: millrace models load NAME'];
  const state = `There are no models in ${paths.join(', ')}.`;
  const advice = 'Put one at NAME/1/model.onnx';
  if (controlMode === 'poll') return [state, `${advice}; it is loaded as soon as it is there.`];
  return [state, `${advice} and restart the server, or start it with --model-control-mode poll.`];
}

function namesText(names: readonly string[]): string {
  const shown = names.slice(0, namesShownMax).join(', ');
  return names.length > namesShownMax ? `${shown} and ${names.length - namesShownMax} more` : shown;
}

function loadTimeText(ms: number): string {
  return ms < 1000 ? `${Math.ceil(ms)} ms` : `${(ms / 1000).toFixed(2)} s`;
}

function titleOf(model: ServedModelStatus): string {
  return model.version === '' ? model.name : `${model.name}:${model.version}`;
}

export function tensorsText(specs: readonly TensorSpec[]): string {
  const shown = specs.slice(0, tensorsShownMax).map(tensorText).join(', ');
  return specs.length > tensorsShownMax ? `${shown} and ${specs.length - tensorsShownMax} more` : shown;
}

/** `images FP32[?,3,224,224]` */
export function tensorText(spec: TensorSpec): string {
  const shape = spec.shape.map((dimension) => (dimension < 0 ? '?' : String(dimension))).join(',');
  return `${spec.name} ${spec.datatype}[${shape}]`;
}
