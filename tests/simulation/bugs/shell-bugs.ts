/** Shells with one bug each, planted at a seam between two of its parts. */
import { InferenceError } from '@millrace/protocol';
import type { Deciders, ShellSeams } from '../shell.ts';

type Runner = NonNullable<ReturnType<ShellSeams['runnerOf']>>;

/** The real thing with some of its methods replaced. */
function bentPart<Part extends object>(real: Part, changes: Partial<Part>): Part {
  return new Proxy(real, {
    get: (target, name) => {
      const changed: unknown = Reflect.get(changes, name);
      if (changed !== undefined) return changed;
      const own: unknown = Reflect.get(target, name, target);
      return typeof own === 'function' ? own.bind(target) : own;
    },
  });
}

const never = new Promise<never>(() => {});

function losesExits(real: ShellSeams['workers']): ShellSeams['workers'] {
  return bentPart(real, { workerGone: () => {} });
}

function overratesCredit(real: ShellSeams['workers']): ShellSeams['workers'] {
  return bentPart(real, {
    workerCredit: (worker, batchesMax) => real.workerCredit(worker, Math.max(2, batchesMax)),
  });
}

/** Gives the memory of an answer back as soon as it has been handed out. */
function releasesAnswersEarly(real: ShellSeams['workers']): ShellSeams['workers'] {
  return bentPart(real, {
    batchAnswered: (message) => {
      const { region } = message;
      real.batchAnswered({ ...message, region: { bytes: region.bytes, release: () => {} } });
      region.release();
    },
  });
}

function endsBeforeIdle(real: ShellSeams['roster']): ShellSeams['roster'] {
  return bentPart(real, {
    retire: async (model) => {
      void real.retire(model);
    },
  });
}

function neverIdle(real: ShellSeams['roster']): ShellSeams['roster'] {
  return bentPart(real, {
    retire: async (model) => {
      await real.retire(model);
      await never;
    },
  });
}

/** A worker that is not replaced at once is never replaced. */
function forgetsToWake(real: ShellSeams['fleetClock']): ShellSeams['fleetClock'] {
  return bentPart(real, { after: (delayMs, callback) => (delayMs > 0 ? () => {} : real.after(delayMs, callback)) });
}

/** Limits end a tenth too early. */
function runsFast(real: ShellSeams['fleetClock']): ShellSeams['fleetClock'] {
  return bentPart(real, {
    now: () => real.now() * 1.1,
    after: (delayMs, callback) => real.after(delayMs / 1.1, callback),
  });
}

/** When a worker is replaced, models with other files are taken out of service, whether or not other workers have them. */
function dropsChangedModels(real: ShellSeams['roster']): ShellSeams['roster'] {
  return bentPart(real, {
    isInUse: (model) => {
      const check = model.source?.isUnchanged();
      void check?.then((isUnchanged) => {
        if (!isUnchanged) real.remove(model);
      });
      return real.isInUse(model);
    },
  });
}

function forgetsDemand(real: ShellSeams['demand']): ShellSeams['demand'] {
  let count = 0;
  return {
    bringBack: (model, deadlineAt, signal) => {
      count += 1;
      return count % 5 === 0 ? never : real.bringBack(model, deadlineAt, signal);
    },
  };
}

function seesNoChanges(real: ShellSeams['source']): ShellSeams['source'] {
  return bentPart(real, {
    fingerprintOf: async (location) => ({ ...(await real.fingerprintOf(location)), text: 'unchanged' }),
  });
}

/** Takes whatever files are there for those that the model was read from. */
function trustsAnyFiles(real: ShellSeams['runnerOf']): ShellSeams['runnerOf'] {
  return (model, definition, version) => {
    let files: typeof model.source;
    Object.defineProperty(model, 'source', {
      get: () => files,
      set: (source: typeof model.source) => {
        files = source && { ...source, isUnchanged: async () => true };
      },
    });
    return real(model, definition, version);
  };
}

function losesPartsOfDeadlines(real: ShellSeams['inferPart']): ShellSeams['inferPart'] {
  return (request, signal, fit) =>
    real({ ...request, origin: { ...request.origin, deadlineAt: Number.POSITIVE_INFINITY } }, signal, fit);
}

/** A step that was not ready once is taken for one that never is again. */
function givesUpSteps(real: ShellSeams['inferPart']): ShellSeams['inferPart'] {
  const givenUp = new Set<string>();
  return async (request, signal, fit) => {
    const { model } = request.target;
    if (givenUp.has(model)) throw new InferenceError('model-not-ready', `${model} was not ready before`);
    try {
      return await real(request, signal, fit);
    } catch (error) {
      if (error instanceof InferenceError && error.code === 'model-not-ready') givenUp.add(model);
      throw error;
    }
  };
}

/** Keeps the cache of a version when another revision replaces it. */
function keepsCaches(real: ShellSeams['runnerOf']): ShellSeams['runnerOf'] {
  const kept = new Map<string, Runner>();
  return (model, definition, version) => {
    const runner = real(model, definition, version);
    if (definition.cache === undefined || runner === undefined) return runner;
    const key = `${definition.name}:${version.version}`;
    const first = kept.get(key) ?? runner;
    kept.set(key, first);
    return bentPart(first, { forget: () => {} });
  };
}

/** Does not hear that a sequence ends, nor that another one starts under the same id. */
function continuesEndedSequences(real: ShellSeams['runnerOf']): ShellSeams['runnerOf'] {
  return (model, definition, version) => {
    const runner = real(model, definition, version);
    if (runner === undefined || model.sequencing === undefined) return runner;
    const started = new Set<string>();
    return bentPart(runner, {
      run: (request, signal) => {
        const { sequence, caller } = request;
        const key = `${caller} ${sequence?.id}`;
        const isStart = sequence?.isStart === true && !started.has(key);
        started.add(key);
        const bent = { value: { ...sequence, isStart, isEnd: false } };
        return runner.run(Object.create(request, { sequence: bent }), signal);
      },
    });
  };
}

function losesSecondAnswers(real: ShellSeams['workers']): ShellSeams['workers'] {
  return bentPart(real, {
    batchProgressed: (message) => {
      if (message.sequence === 2) message.region.release();
      else real.batchProgressed(message);
    },
  });
}

export const shellBugs: ReadonlyMap<string, Partial<Deciders>> = new Map<string, Partial<Deciders>>([
  ['a data plane that does not hear of the exit of workers', { seams: { workers: losesExits } }],
  ['a data plane that overrates the credit of workers', { seams: { workers: overratesCredit } }],
  ['a data plane that reuses the memory of answers too early', { seams: { workers: releasesAnswersEarly } }],
  ['a roster that calls retired models idle at once', { seams: { roster: endsBeforeIdle } }],
  ['a roster that never calls retired models idle', { seams: { roster: neverIdle } }],
  ['a fleet that is not woken for what is due later', { seams: { fleetClock: forgetsToWake } }],
  ['a fleet whose clock runs fast', { seams: { fleetClock: runsFast } }],
  ['a fleet that drops changed models that workers have in memory', { seams: { roster: dropsChangedModels } }],
  ['a library that forgets some requests that wait for a load', { seams: { demand: forgetsDemand } }],
  ['a library that does not see that files change', { seams: { source: seesNoChanges } }],
  ['a library that loads whatever files are there', { seams: { runnerOf: trustsAnyFiles } }],
  ['an ensemble whose steps lose the deadline of the caller', { seams: { inferPart: losesPartsOfDeadlines } }],
  ['an ensemble that never asks a step again that was not ready', { seams: { inferPart: givesUpSteps } }],
  ['a cache that outlives the revision of its model', { seams: { runnerOf: keepsCaches } }],
  ['a sequence whose state survives its end', { seams: { runnerOf: continuesEndedSequences } }],
  ['a stream that loses the second answer', { seams: { workers: losesSecondAnswers } }],
]);
