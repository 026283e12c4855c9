/** Machines and journals with one bug each. A simulation that finds none of them would prove nothing by finding none in ours. */
import type { LinkFrame, OutputEntry, StreamEntry, StreamMachineAction, StreamMachineEvent } from '@millrace/core';
import type { StreamBug } from './bent-machine.ts';
import { modelRun, type SimulatedValue } from './reference-run.ts';

type Entry = StreamEntry<SimulatedValue>;
type Action = StreamMachineAction<SimulatedValue>;
type MachineEvent = StreamMachineEvent<SimulatedValue>;

/** Changes entries as they are appended. */
function bentEntries(bend: (entry: Entry) => Entry): StreamBug {
  return {
    hooks: () => ({
      action: (action) => [action.kind === 'append' ? { ...action, entry: bend(action.entry) } : action],
    }),
  };
}

/** Changes actions, with a memory of its own for each machine. */
function bentActions(
  bend: () => (action: Action, feed: (event: MachineEvent) => void) => readonly Action[],
): StreamBug {
  return { hooks: () => ({ action: bend() }) };
}

function bentEvents(bend: () => (event: MachineEvent) => readonly MachineEvent[]): StreamBug {
  return { hooks: () => ({ event: bend() }) };
}

/** The link that counts, as far as events and actions tell. */
class CurrentLink {
  id: number | undefined;

  see(event: MachineEvent): void {
    if (event.kind === 'attached') this.id = event.link;
    if (event.kind === 'detached' && event.link === this.id) this.id = undefined;
  }
}

function sendsBeforeCommit(): StreamBug {
  return {
    hooks: () => {
      const current = new CurrentLink();
      const sent = new Set<number>();
      return {
        event: (event) => {
          current.see(event);
          return [event];
        },
        action: (action) => {
          if (action.kind === 'append' && action.entry.kind === 'output' && current.id !== undefined) {
            const { entry: output } = action;
            sent.add(output.sequence);
            const frame: LinkFrame<SimulatedValue> = { kind: 'output', output };
            return [action, { kind: 'send', link: current.id, frame }];
          }
          const isSent =
            action.kind === 'send' && action.frame.kind === 'output' && sent.has(action.frame.output.sequence);
          return isSent ? [] : [action];
        },
      };
    },
  };
}

function acceptsBeforeCommit(): StreamBug {
  return bentActions(() => {
    let appended = 0;
    return (action) => {
      if (action.kind === 'append' && action.entry.kind === 'input') appended = action.entry.sequence;
      if (action.kind !== 'send' || action.frame.kind !== 'accepted') return [action];
      return [{ ...action, frame: { ...action.frame, acceptedInput: Math.max(appended, action.frame.acceptedInput) } }];
    };
  });
}

/** The client asks for it again, and gets something else. */
function trimsUnacknowledged(): StreamBug {
  return bentActions(() => (action) => {
    if (action.kind !== 'trim') return [action];
    const last = action.snapshot.findLast((entry): entry is OutputEntry<SimulatedValue> => entry.kind === 'output');
    return [{ ...action, snapshot: action.snapshot.filter((entry) => entry !== last) }];
  });
}

function appliesTwice(): StreamBug {
  return bentEvents(() => {
    let seen = 0;
    return (event) => {
      if (event.kind !== 'input') return [event];
      if (event.input.sequence > seen) {
        seen = Math.max(seen, event.input.sequence);
        return [event];
      }
      seen += 1;
      return [{ ...event, input: { ...event.input, sequence: seen } }];
    };
  });
}

function endsUnjournaled(): StreamBug {
  return bentActions(() => (action, feed) => {
    if (action.kind !== 'append' || action.entry.kind !== 'ending') return [action];
    feed({ kind: 'committed', number: action.number });
    return [];
  });
}

/** After a resume the credit of the link before is still used up. */
function leaksCredit(): StreamBug {
  return bentEvents(() => {
    let used = 0;
    return (event) => {
      if (event.kind !== 'attached') return [event];
      const messages = Math.max(0, event.credit.messages - used);
      used += 4;
      return [{ ...event, credit: { ...event.credit, messages } }];
    };
  });
}

function keepsFailedState(): StreamBug {
  return bentActions(() => {
    return (action) => {
      if (action.kind !== 'run' || !action.isAlone || action.input.payload === undefined) return [action];
      const { state } = modelRun('stateful', action.input.payload, action.state);
      return [action.state === undefined ? action : { ...action, state }];
    };
  });
}

function hearsSuperseded(): StreamBug {
  return bentEvents(() => {
    const current = new CurrentLink();
    return (event) => {
      current.see(event);
      if (event.kind !== 'input' || current.id === undefined) return [event];
      return [{ ...event, link: current.id }];
    };
  });
}

function endsTwice(): StreamBug {
  return bentActions(() => (action) => {
    return action.kind === 'send' && action.frame.kind === 'ended' ? [action, action] : [action];
  });
}

/** Outputs of an input that is run again are numbered again. */
function forgetsLastOutput(entries: readonly Entry[]): readonly Entry[] {
  const index = entries.findLastIndex(({ kind }) => kind === 'output');
  return entries.filter((_, at) => at !== index);
}

function forgetsDropped(entries: readonly Entry[]): readonly Entry[] {
  return entries.map((entry) => (entry.kind === 'input' ? { ...entry, isDropped: false } : entry));
}

/** Both links of a stream go on. */
function keepsSuperseded(): StreamBug {
  return bentActions(() => (action) => {
    return action.kind === 'close-link' && action.error.code === 'stream-superseded' ? [] : [action];
  });
}

function losesWakeUps(): StreamBug {
  return bentActions(() => (action) => (action.kind === 'wake-at' ? [] : [action]));
}

function neverGrantsMore(): StreamBug {
  return bentActions(() => (action) => (action.kind === 'grant' ? [] : [action]));
}

function countsEveryDeath(): StreamBug {
  return bentEvents(() => {
    let deaths = 0;
    return (event) => {
      if (event.kind !== 'step-failed' || !event.hasWorkerDied) return [event];
      deaths += 1;
      const error = { code: 'poison-request', message: 'planted' };
      return [deaths > 2 ? { ...event, hasWorkerDied: false, error } : event];
    };
  });
}

function forgetsEpoch(): StreamBug {
  return { isUnfenced: true };
}

export const streamBugs: ReadonlyMap<string, StreamBug> = new Map<string, StreamBug>([
  ['sends outputs before they are durable', sendsBeforeCommit()],
  ['accepts inputs before they are durable', acceptsBeforeCommit()],
  ['trims an output that is not acknowledged', trimsUnacknowledged()],
  [
    'names an input in a checkpoint that is not applied',
    bentEntries((entry) => (entry.kind === 'checkpoint' ? { ...entry, input: entry.input + 1 } : entry)),
  ],
  [
    'leaves the outputs of a half-answered input out of a checkpoint',
    bentEntries((entry) => (entry.kind === 'checkpoint' ? { ...entry, partialOutputs: 0 } : entry)),
  ],
  [
    'acknowledges all outputs in a checkpoint',
    bentEntries((entry) => (entry.kind === 'checkpoint' ? { ...entry, acknowledgedOutput: entry.outputs } : entry)),
  ],
  ['journals although its owner has its share', bentEvents(() => (event) => (event.kind === 'journal' ? [] : [event]))],
  [
    'never goes on after its owner had its share',
    bentEvents(() => (event) => (event.kind === 'journal' && !event.isScarce ? [] : [event])),
  ],
  ['begins a new resume window after every restart', { forgetsIdle: true }],
  ['does not check the epoch', forgetsEpoch()],
  [
    'does not journal that a late input was dropped',
    bentEntries((entry) => (entry.kind === 'input' ? { ...entry, isDropped: false } : entry)),
  ],
  ['runs dropped inputs after a restore', { restored: forgetsDropped }],
  ['applies a duplicate', appliesTwice()],
  ['does not journal the ending', endsUnjournaled()],
  ['leaks credit at a resume', leaksCredit()],
  ['keeps the state of a failed step', keepsFailedState()],
  ['hears a superseded link', hearsSuperseded()],
  ['does not close a superseded link', keepsSuperseded()],
  ['ends a link twice', endsTwice()],
  ['numbers an output again after a restore', { restored: forgetsLastOutput }],
  ['never expires', losesWakeUps()],
  ['grants a step no further outputs', neverGrantsMore()],
  ['takes every death of a worker for poison', countsEveryDeath()],
  ['keeps outputs without a limit', { config: { retainedOutputsMax: 10_000, retainedBytesMax: 1_000_000 } }],
  ['sends more than the transport takes', { config: { unsentOutputsMax: 10_000, unsentBytesMax: 1_000_000 } }],
  ['checkpoints too rarely to bound its log', { config: { staleEntriesMin: 10_000, staleBytesMin: 10_000_000 } }],
]);
