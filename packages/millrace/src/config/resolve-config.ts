/**
 * Resolves the configuration from its layers: defaults, options given in code, the file, the variables, the flags. Each
 * overrides the one before. Every value is checked, overridden ones included, and every problem is reported.
 */
import { memoryBytesMinFor } from '@millrace/core';
import { ConfigError, type ConfigProblem, isLoopbackName } from '@millrace/protocol';
import { type Environment, readEnvironmentLayer } from './environment-layer.ts';
import { type Config, configFields, type NamedField, type Options } from './fields.ts';
import { didYouMean } from './suggest.ts';
import { type ConfigLayer, problemAt, type WrittenValue } from './written-value.ts';
import { type ConfigFile, readYamlLayer } from './yaml-layer.ts';

export interface ConfigSources {
  readonly options?: Options;
  readonly file?: ConfigFile;
  readonly environment?: Environment;
  /** From the command line, where flags were matched with fields. */
  readonly flags?: readonly WrittenValue[];
  /** Where relative paths start. */
  readonly cwd: string;
  /** Returns what is wrong with a path of models, if anything; without this function paths are not checked. */
  readonly pathProblem?: (path: string) => string | undefined;
}

/** Throws a `ConfigError` that lists every problem of every layer. */
export function resolveConfig(sources: ConfigSources): Config {
  const resolution = new Resolution();
  if (sources.options !== undefined) resolution.add(readOptions(sources.options, sources.cwd));
  if (sources.file !== undefined) resolution.add(readYamlLayer(sources.file, sources.cwd));
  if (sources.environment !== undefined) resolution.add(readEnvironmentLayer(sources.environment, sources.cwd));
  if (sources.flags !== undefined) resolution.add({ values: sources.flags, problems: [] });
  return resolution.finish(sources.pathProblem);
}

type Port = 'httpPort' | 'grpcPort' | 'metricsPort';

class Resolution {
  readonly #problems: ConfigProblem[] = [];
  readonly #values = new Map<string, unknown>(configFields.map(({ path, field }) => [path, field.default]));
  /** The source of the value in effect; none for a default. */
  readonly #writers = new Map<string, WrittenValue>();

  add(layer: ConfigLayer): void {
    this.#problems.push(...layer.problems);
    const given = new Set<string>();
    for (const written of layer.values) {
      const { path, field } = written.field;
      const parsed = field.parse(written.value, written.folder);
      if ('problem' in parsed) {
        this.#problems.push(problemAt(written, parsed.problem));
        continue;
      }
      // A flag of a list may be repeated: within one layer its values add up.
      const isMore = field.isList && given.has(path);
      const before = isMore ? (this.#values.get(path) as readonly unknown[]) : [];
      given.add(path);
      this.#values.set(path, isMore ? [...before, ...(parsed.value as readonly unknown[])] : parsed.value);
      this.#writers.set(path, written);
    }
  }

  finish(pathProblem: ((path: string) => string | undefined) | undefined): Config {
    const config = this.#config();
    this.#checkTogether(config);
    if (pathProblem !== undefined) this.#checkPaths(config, pathProblem);
    if (this.#problems.length > 0) throw new ConfigError(this.#problems);
    return config;
  }

  #config(): Config {
    const config: Record<string, Record<string, unknown>> = {};
    for (const { group, name, path } of configFields) {
      config[group] ??= {};
      const value = this.#values.get(path);
      config[group][name] = Array.isArray(value) ? Object.freeze([...(value as unknown[])]) : value;
    }
    for (const group of Object.values(config)) Object.freeze(group);
    return Object.freeze(config) as Config;
  }

  /** Checks that concern more than one field. */
  #checkTogether(config: Config): void {
    const { http, server } = config;
    if (http.jsonBytesMax > http.bodyBytesMax) {
      this.#conflict(
        'http.jsonBytesMax',
        'http.bodyBytesMax',
        'must not be above http.bodyBytesMax, which includes it; lower it or raise the other',
      );
    }
    this.#checkControl(config);
    this.#checkMemory(config);
    this.#checkPorts(server, 'grpcPort', 'httpPort');
    this.#checkPorts(server, 'metricsPort', 'httpPort');
    this.#checkPorts(server, 'metricsPort', 'grpcPort');
    this.#checkManagement(config);
    this.#checkTls(config.tls);
    this.#checkWorkerUser(config.worker);
    this.#checkAttachedWorkers(config);
  }

  /** Models to load at the start are refused in other modes, as Triton does: there the repository decides. */
  #checkControl({ models }: Config): void {
    if (models.load.length === 0 || models.controlMode === 'explicit') return;
    const message = `has no effect while models.controlMode is ${models.controlMode}; set that to explicit`;
    this.#conflict('models.load', 'models.controlMode', message);
  }

  /** Refuses settings of a port that does not exist: they would be ignored silently. */
  #checkManagement({ management, server }: Config): void {
    for (const listener of ['port', 'socket'] as const) {
      const isGiven = listener === 'port' ? management.port !== 'same' : management.socket !== '';
      if (management.enabled !== false || !isGiven) continue;
      this.#conflict(`management.${listener}`, 'management.enabled', 'has no effect: management.enabled is false');
    }
    if (management.port === 'same') {
      if (this.#writers.has('management.host')) {
        const message = 'has no effect while management.port is same; give management a port of its own';
        this.#conflict('management.host', 'management.host', message);
      }
      return;
    }
    if (management.socket !== '') {
      this.#conflict(
        'management.socket',
        'management.port',
        'and management.port exclude each other; give one of them',
      );
    }
    if (management.enabled === 'auto' && !isLoopbackName(management.host)) {
      const message = 'is not a loopback address: set management.enabled to true to serve management there';
      this.#conflict('management.host', 'management.host', message);
    }
    for (const other of ['httpPort', 'grpcPort', 'metricsPort'] as const) {
      if (management.port === 0 || management.port !== server[other]) continue;
      const message = `must differ from server.${other}, which is ${server[other]} too`;
      this.#conflict('management.port', `server.${other}`, `${message}; or write same`);
    }
  }

  #checkMemory({ memory, http }: Config): void {
    const { bytesMax } = memory;
    const bytesMin = memoryBytesMinFor(http.bodyBytesMax);
    if (bytesMax === 0 || bytesMax >= bytesMin) return;
    const message = `must be at least ${bytesMin} bytes where http.bodyBytesMax is ${http.bodyBytesMax}; raise it or lower the other`;
    this.#conflict('memory.bytesMax', 'http.bodyBytesMax', message);
  }

  /** A certificate needs its key, and client certificates need TLS. */
  #checkTls({ certificateFile, keyFile, clientAuthorityFile }: Config['tls']): void {
    if ((certificateFile === '') !== (keyFile === '')) {
      this.#conflict('tls.certificateFile', 'tls.keyFile', 'and tls.keyFile must be given together');
    } else if (clientAuthorityFile !== '' && certificateFile === '') {
      const message = 'needs tls.certificateFile and tls.keyFile: clients present certificates over TLS only';
      this.#conflict('tls.clientAuthorityFile', 'tls.clientAuthorityFile', message);
    }
  }

  /** Models in the server process would run as the server's user in spite of `worker.user`. */
  #checkWorkerUser({ user, group, lane }: Config['worker']): void {
    if (user === '' && group !== '') {
      this.#conflict('worker.group', 'worker.user', 'has no effect without worker.user');
    }
    if (user !== '' && lane === 'inline') {
      const message = 'has no effect on models in the server process; worker.lane must be local';
      this.#conflict('worker.user', 'worker.lane', message);
    }
  }

  /** Refuses settings of workers that this server does not start: they would be ignored silently. */
  #checkAttachedWorkers({ worker, models }: Config): void {
    if (worker.sockets.length === 0) return;
    const refuse = (path: string, message: string): void => this.#conflict(path, 'worker.sockets', message);
    if (worker.lane === 'inline')
      refuse('worker.sockets', 'has no effect while worker.lane is inline; remove one of them');
    if (worker.user !== '')
      refuse('worker.user', 'has no effect on the workers of worker.sockets; start them as that user');
    for (const path of ['worker.sharedMemory', 'worker.sharedMemoryBytes']) {
      if (this.#writers.has(path))
        refuse(path, 'has no effect with worker.sockets: no memory is shared with those workers');
    }
    if (models.memoryBudget !== 0) {
      refuse(
        'models.memoryBudget',
        'cannot be kept with worker.sockets: other servers may use the memory of those workers',
      );
    }
  }

  #checkPorts(server: Config['server'], name: Port, other: Port): void {
    if (server[name] === 0 || server[name] !== server[other]) return;
    const message = `must differ from server.${other}, which is ${server[other]} too`;
    this.#conflict(`server.${name}`, `server.${other}`, message);
  }

  /** Reported where either value was written: at least one was, because the defaults do not conflict. */
  #conflict(path: string, other: string, message: string): void {
    const written = this.#writers.get(path) ?? this.#writers.get(other);
    if (written === undefined) return;
    this.#problems.push(problemAt({ ...written, field: mustFindField(path) }, message));
  }

  #checkPaths(config: Config, pathProblem: (path: string) => string | undefined): void {
    const written = this.#writers.get('models.paths');
    if (written === undefined) return;
    for (const path of config.models.paths) {
      const problem = pathProblem(path);
      if (problem !== undefined) this.#problems.push(problemAt(written, problem));
    }
  }
}

function mustFindField(path: string): NamedField {
  const field = configFields.find((one) => one.path === path);
  if (field === undefined) throw new Error(`no field ${path}`);
  return field;
}

const optionsSource = 'options';

function readOptions(options: Options, cwd: string): ConfigLayer {
  const values: WrittenValue[] = [];
  const problems: ConfigProblem[] = [];
  for (const [group, members] of Object.entries(options)) {
    for (const [name, value] of Object.entries(members ?? {})) {
      if (value === undefined) continue;
      const path = `${group}.${name}`;
      const field = configFields.find((one) => one.path === path);
      if (field !== undefined) values.push({ field, value, source: optionsSource, folder: cwd });
      else {
        const known = configFields.map((one) => one.path);
        problems.push({ source: optionsSource, field: path, message: `is not a field.${didYouMean(path, known)}` });
      }
    }
  }
  return { values, problems };
}
