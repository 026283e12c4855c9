/** Stream hosts with one bug each, planted at a seam between the host and its surroundings. */
import { InferenceError } from '@millrace/protocol';
import { bentPin } from '../hosted/bent-pin.ts';
import type { StreamHostParts } from '../hosted/host-process.ts';
import type { Deciders, ShellSeams } from '../shell.ts';

type Host = StreamHostParts;

/** What is appended counts as durable before it is. */
function saysDurableTooEarly(real: Host): Host {
  return {
    ...real,
    journal: {
      ...real.journal,
      takeOver: async (stream, owner, options) => {
        const log = await real.journal.takeOver(stream, owner, options);
        if (log === undefined) return undefined;
        let last = log.base + log.entries.length;
        const append: typeof log.append = async (entries, how) => {
          log.append(entries, how).catch(() => {});
          last += entries.length;
          return last;
        };
        return Object.create(log, { append: { value: append } });
      },
    },
  };
}

/** Steps go to whatever revision is served. */
function runsOnAnyRevision(real: Host): Host {
  return {
    ...real,
    inference: {
      inferMany: (request, signal, flow) => {
        const { pinnedTo: _, ...target } = request.target;
        return real.inference.inferMany({ ...request, target }, signal, flow);
      },
    },
  };
}

/** A stream whose files were replaced is ended although its workers have the old ones in memory. */
function givesChangedModelsUp(real: Host): Host {
  return {
    ...real,
    inference: {
      inferMany: async (request, signal, flow) => {
        const isUnchanged = await request.target.pinnedTo?.source?.isUnchanged();
        if (isUnchanged === false) throw new InferenceError('model-changed', 'the files of the model have changed');
        return real.inference.inferMany(request, signal, flow);
      },
    },
  };
}

/** A version that streams hold is let go of at once. */
function holdsNoVersion(real: Host): Host {
  const { models } = real;
  return {
    ...real,
    models: {
      pin: async (context, onRetired) => {
        const pin = await models.pin(context, onRetired);
        pin.release();
        return pin;
      },
      pinAgain: async (model, version, onRetired) => {
        const pin = await models.pinAgain(model, version, onRetired);
        pin?.release();
        return pin;
      },
      onServed: (...given) => models.onServed(...given),
    },
  };
}

/** A version is held for ever once a stream has had it. */
function neverLetsGo(real: Host): Host {
  const { models } = real;
  const release = (): void => {};
  return {
    ...real,
    models: {
      pin: async (context, onRetired) => bentPin(await models.pin(context, onRetired), { release }),
      pinAgain: async (model, version, onRetired) => {
        const pin = await models.pinAgain(model, version, onRetired);
        return pin && bentPin(pin, { release });
      },
      onServed: (...given) => models.onServed(...given),
    },
  };
}

/** A process that takes streams over does not see that their model has other files. */
function trustsAnyFiles(real: Host): Host {
  const digests = new Map<string, string>();
  const { models } = real;
  const remembered = (key: string, digest: string): string => {
    if (!digests.has(key)) digests.set(key, digest);
    return digests.get(key) as string;
  };
  const keyOf = (pin: {
    readonly model: { readonly view: { readonly name: string; readonly version: string } };
  }): string => `${pin.model.view.name}:${pin.model.view.version}`;
  return {
    ...real,
    models: {
      pin: async (context, onRetired) => {
        const pin = await models.pin(context, onRetired);
        return bentPin(pin, { digest: remembered(keyOf(pin), pin.digest) });
      },
      pinAgain: async (model, version, onRetired) => {
        const pin = await models.pinAgain(model, version, onRetired);
        return pin && bentPin(pin, { digest: remembered(keyOf(pin), pin.digest) });
      },
      onServed: (...given) => models.onServed(...given),
    },
  };
}

/** A stream whose revision is replaced does not look for one with the same files. */
function followsNoRevision(real: Host): Host {
  const { models } = real;
  const retired = new Set<string>();
  return {
    ...real,
    models: {
      pin: async (context, onRetired) => {
        let key = '';
        const pin = await models.pin(context, () => {
          retired.add(key);
          onRetired();
        });
        key = `${pin.model.view.name}:${pin.model.view.version}`;
        return pin;
      },
      pinAgain: async (model, version, onRetired) =>
        retired.has(`${model}:${version}`) ? undefined : models.pinAgain(model, version, onRetired),
      onServed: (...given) => models.onServed(...given),
    },
  };
}

/** The state that a stateful step gets is the initial one. */
function forgetsState(real: Host): Host {
  return { ...real, codec: { ...real.codec, decodeOutput: () => ({ kind: 'none' }) } };
}

/** Streams are never woken: nothing expires, and no version is given up. */
function neverWakes(real: Host): Host {
  return { ...real, clock: { ...real.clock, alarm: () => () => {} } };
}

/** The journal is not told when a client comes back: the next process counts the time since one before it left. */
function notesNoReturn(real: Host): Host {
  return {
    ...real,
    journal: {
      ...real.journal,
      takeOver: async (stream, owner, options) => {
        const log = await real.journal.takeOver(stream, owner, options);
        if (log === undefined) return undefined;
        const noteIdle: typeof log.noteIdle = async (idle) => {
          if (idle !== undefined) await log.noteIdle(idle);
        };
        return Object.create(log, { noteIdle: { value: noteIdle } });
      },
    },
  };
}

/** Whoever knows the id of a stream gets it. */
function knowsNoPrincipals(real: ShellSeams['streamGateway']): ShellSeams['streamGateway'] {
  return {
    attach: (open, { caller }, options, listener) => real.attach(open, { caller, principal: '' }, options, listener),
    input: (stream, frame, { caller }, signal) => real.input(stream, frame, { caller, principal: '' }, signal),
    acknowledge: (stream, frame, { caller }) => real.acknowledge(stream, frame, { caller, principal: '' }),
    cancel: (stream, frame, { caller }) => real.cancel(stream, frame, { caller, principal: '' }),
    status: (stream, { caller }) => real.status(stream, { caller, principal: '' }),
  };
}

/** A connection that is lost is taken for one that is still there. */
function hearsNoLostLinks(real: ShellSeams['streamGateway']): ShellSeams['streamGateway'] {
  return bentGateway(real, (link) => ({ ...link, detach: () => {} }));
}

/** Inputs that come in calls of their own are answered when they arrive. */
function acceptsTooEarly(real: ShellSeams['streamGateway']): ShellSeams['streamGateway'] {
  return {
    ...bentGateway(real, (link) => link),
    input: async (stream, frame, caller, signal) => {
      real.input(stream, frame, caller, signal).catch(() => {});
      return { kind: 'accepted', input: frame.sequence };
    },
  };
}

type Link = ReturnType<ShellSeams['streamGateway']['attach']>;

function bentGateway(real: ShellSeams['streamGateway'], bend: (link: Link) => Link): ShellSeams['streamGateway'] {
  return {
    attach: (open, caller, options, listener) => {
      const link = real.attach(open, caller, options, listener);
      return bend({
        input: (frame) => link.input(frame),
        acknowledge: (frame) => link.acknowledge(frame),
        cancel: (frame) => link.cancel(frame),
        taken: (output) => link.taken(output),
        finish: () => link.finish(),
        detach: () => link.detach(),
      });
    },
    input: (stream, frame, caller, signal) => real.input(stream, frame, caller, signal),
    acknowledge: (stream, frame, caller) => real.acknowledge(stream, frame, caller),
    cancel: (stream, frame, caller) => real.cancel(stream, frame, caller),
    status: (stream, caller) => real.status(stream, caller),
  };
}

export const streamHostBugs: ReadonlyMap<string, Partial<Deciders>> = new Map<string, Partial<Deciders>>([
  ['a stream host that takes entries for durable too early', { seams: { streamHost: saysDurableTooEarly } }],
  ['a stream host that runs steps on any revision', { seams: { streamHost: runsOnAnyRevision } }],
  ['a stream host that gives up models whose files change', { seams: { streamHost: givesChangedModelsUp } }],
  ['a stream host that does not hold its versions', { seams: { streamHost: holdsNoVersion } }],
  ['a stream host that never lets go of a version', { seams: { streamHost: neverLetsGo } }],
  ['a stream host that trusts any files', { seams: { streamHost: trustsAnyFiles } }],
  ['a stream host that follows no revision with the same files', { seams: { streamHost: followsNoRevision } }],
  ['a stream host that forgets the state of its models', { seams: { streamHost: forgetsState } }],
  ['a stream host that is never woken', { seams: { streamHost: neverWakes } }],
  ['a stream host that does not note the return of a client', { seams: { streamHost: notesNoReturn } }],
  ['a stream host that knows no principals', { seams: { streamGateway: knowsNoPrincipals } }],
  ['a stream host that does not hear of lost links', { seams: { streamGateway: hearsNoLostLinks } }],
  ['a stream host that accepts inputs too early', { seams: { streamGateway: acceptsTooEarly } }],
]);
