import { describe, expect, test } from 'vitest';
import { StreamHarness, textPayload } from './testing/stream-harness.ts';

/** A stream with a client, whose opening is durable. */
function opened(config: ConstructorParameters<typeof StreamHarness>[0] = {}): StreamHarness {
  const harness = new StreamHarness(config).attach().commit();
  harness.take();
  return harness;
}

describe('frames follow the journal', () => {
  test('opened is sent when the opening is durable', () => {
    const harness = new StreamHarness().attach();
    expect(harness.take()).toEqual(['append opening']);
    expect(harness.commit().take()).toEqual(['send 1 opened 0 next=1']);
  });

  test('an input runs at once, is accepted when it is durable, and its output is sent when that is', () => {
    const harness = opened();
    expect(harness.input(1).take()).toEqual(['append input 1', 'run 1 in1 state=-']);
    expect(harness.done(1, 'out1').take()).toEqual(['append output 1 out1 last']);
    expect(harness.commit().take()).toEqual(['send 1 accepted 1', 'send 1 output 1 out1 last']);
  });

  test('the last input ends the stream, once its outputs are numbered', () => {
    const harness = opened().input(1, { isLast: true }).done(1, 'out1').commit();
    expect(harness.take().slice(-2)).toEqual(['send 1 output 1 out1 last', 'send 1 ended done 1']);
  });

  test('an input without a payload ends the stream without an output', () => {
    const harness = opened().input(1, { payload: undefined, isLast: true }).commit();
    expect(harness.take()).toEqual([
      'append input 1 last',
      'append ending done 0',
      'send 1 accepted 1',
      'send 1 ended done 0',
    ]);
  });
});

describe('inputs', () => {
  test('wait for the one before, and are applied in order', () => {
    const harness = opened();
    expect(harness.input(2).take()).toEqual([]);
    expect(harness.input(1).take()).toEqual([
      'append input 1',
      'append input 2',
      'run 1 in1 state=-',
      'run 2 in2 state=-',
    ]);
  });

  test('that came before are answered by accepted', () => {
    const harness = opened().input(1).commit();
    harness.take();
    expect(harness.input(1).take()).toEqual(['send 1 accepted 1']);
  });

  test('beyond the reorder window end the stream', () => {
    expect(opened().input(65).take()).toEqual([]);
    expect(opened().input(66).take()).toEqual(['append ending failed sequence-gap 0']);
  });

  test('after the last one end the stream', () => {
    const harness = opened().input(1, { isLast: true });
    harness.take();
    expect(harness.input(2).take()).toEqual(['cancel-step 1', 'append ending failed input-after-end 0']);
  });

  test('that are late are dropped, and answered by an empty output', () => {
    const harness = opened({ lateInputs: 'drop', latenessMsMax: 100 }).input(1, { eventTime: 1_000 });
    harness.take();
    harness.input(2, { eventTime: 899 }).input(3, { eventTime: 900 });
    expect(harness.take()).toEqual(['append input 2 dropped', 'append input 3', 'run 2 in3 state=-']);
    expect(harness.machine.lateInputs).toBe(1);
    harness.done(1, 'out1');
    expect(harness.take()).toEqual(['append output 1 out1 last', 'append output 2 - last']);
  });

  test('that are late end the stream where they are refused, and run where they are applied', () => {
    const config = { lateInputs: 'refuse', latenessMsMax: 100 } as const;
    const refused = opened(config).input(1, { eventTime: 1_000 }).input(2, { eventTime: 0 });
    expect(refused.take()).toContain('append ending failed late-input 0');
    const applied = opened({ ...config, lateInputs: 'apply' })
      .input(1, { eventTime: 1_000 })
      .input(2, { eventTime: 0 });
    expect(applied.take()).toContain('run 2 in2 state=-');
    expect(applied.machine.lateInputs).toBe(1);
  });

  test('whose deadline passes end the stream', () => {
    const harness = opened().input(1, { deadlineAt: 50 });
    harness.take();
    expect(harness.wait(49).take()).toEqual([]);
    expect(harness.wait(1).take()).toEqual(['cancel-step 1', 'append ending failed deadline-exceeded 0']);
  });

  test('beyond the pending ones wait, and are taken when there is room', () => {
    const harness = opened({ pendingInputsMax: 1, reorderInputsMax: 4 }).input(1).input(2);
    expect(harness.take()).toEqual(['append input 1', 'run 1 in1 state=-']);
    expect(harness.done(1, 'a').commit().take()).toContain('append input 2');
  });
});

describe('steps', () => {
  test('of an independent model run together and answer in order', () => {
    const harness = opened({ stepsMax: 2 }).input(1).input(2).input(3);
    harness.take();
    expect(harness.done(2, 'b').take()).toEqual([]);
    expect(harness.done(1, 'a').take()).toEqual([
      'append output 1 a last',
      'append output 2 b last',
      'run 3 in3 state=-',
    ]);
  });

  test('of a stateful model run one at a time, each from the state before', () => {
    const harness = opened({ model: 'stateful' }).input(1).input(2);
    expect(harness.take()).toEqual(['append input 1', 'run 1 in1 state=-', 'append input 2']);
    expect(harness.done(1, 'a', 's1').take()).toEqual(['append output 1 a last', 'run 2 in2 state=s1']);
  });

  test('of a decoupled model are granted outputs as the client takes them', () => {
    const harness = new StreamHarness({ model: 'decoupled', outputsAheadMax: 4 })
      .attach(1, 0, { messages: 2 })
      .commit();
    harness.input(1).take();
    const run = harness.actions.find((action) => action.kind === 'run');
    expect(run).toMatchObject({ outputsMax: 2 });
    const give = (text: string): StreamHarness =>
      harness.handle({ kind: 'step-output', step: 1, payload: textPayload(text), isLast: false });
    give('a');
    give('b').commit();
    expect(harness.take().filter((text) => text.startsWith('grant'))).toEqual([]);
    harness.handle({ kind: 'acknowledged', link: 1, output: 2, credit: { messages: 2, bytes: 100 } });
    expect(harness.take()).toEqual(['grant 1 4']);
    harness.handle({ kind: 'step-done', step: 1, state: undefined });
    expect(harness.take()).toEqual(['append output 3 - last']);
  });

  test('that fail end the stream; those whose worker died run again, alone', () => {
    const harness = opened({ model: 'stateful' }).input(1).done(1, 'a', 's1').input(2);
    harness.take();
    expect(harness.died(2, false).take()).toEqual(['run 3 in2 state=s1 alone']);
    const error = { code: 'inference-failed', message: 'no' };
    harness.handle({ kind: 'step-failed', step: 3, error, hasWorkerDied: false, wasAlone: true });
    expect(harness.take()).toEqual(['append ending failed inference-failed 1']);
  });

  test('that gave way because the client took no outputs run again when it does, and give none twice', () => {
    const harness = new StreamHarness({ model: 'decoupled' }).attach(1, 0, { messages: 1 }).commit().input(1);
    const give = (step: number, text: string): StreamHarness =>
      harness.handle({ kind: 'step-output', step, payload: textPayload(text), isLast: false });
    give(1, 'a').commit().take();
    const error = { code: 'caller-full', message: 'nobody read it' };
    const gaveWay = { kind: 'step-failed', step: 1, error, hasWorkerDied: false, wasAlone: false } as const;
    expect(harness.handle(gaveWay).take()).toEqual([]);
    harness.handle({ kind: 'acknowledged', link: 1, output: 1, credit: { messages: 1, bytes: 100 } });
    expect(harness.take()).toContain('run 2 in1 state=-');
    give(2, 'a');
    expect(harness.take()).toEqual([]);
    give(2, 'b');
    expect(harness.take()).toEqual(['append output 2 b']);
  });

  test('that gave way and cannot be run again end the stream', () => {
    const harness = opened({ model: 'decoupled', isResumable: false }).input(1);
    harness.take();
    const error = { code: 'caller-full', message: 'nobody read it' };
    harness.handle({ kind: 'step-failed', step: 1, error, hasWorkerDied: false, wasAlone: false });
    expect(harness.take()).toEqual(['append ending failed caller-full 0']);
  });

  test('are suspect only if a worker died while it ran them alone in quarantine', () => {
    const harness = opened().input(1);
    for (let step = 1; step <= 5; step++) harness.died(step, false);
    harness.died(6, true);
    harness.take();
    expect(harness.died(7, true).take()).toEqual(['append ending failed poison-request 0']);
  });

  test('that cannot be run again end the stream with their worker', () => {
    const harness = opened({ model: 'decoupled', isResumable: false }).input(1);
    harness.take();
    expect(harness.died(1, false).take()).toEqual(['append ending failed worker-lost 0']);
    expect(opened({ model: 'decoupled', isResumable: false }).input(1).restart().take()).toContain(
      'append ending failed worker-lost 0',
    );
  });

  test('are paused while no client takes outputs', () => {
    const harness = new StreamHarness().attach(1, 0, { messages: 1 }).commit();
    harness.take();
    harness.input(1).input(2).handle({ kind: 'detached', link: 1 });
    expect(harness.take()).toEqual(['append input 1', 'run 1 in1 state=-', 'append input 2']);
    expect(harness.done(1, 'a').commit().take()).toEqual(['append output 1 a last']);
    expect(harness.attach(2, 0, { messages: 1 }).take()).toEqual(['send 2 opened 2 next=1', 'send 2 output 1 a last']);
    harness.handle({ kind: 'acknowledged', link: 2, output: 1, credit: { messages: 1, bytes: 10 } });
    expect(harness.take()).toEqual(['run 2 in2 state=-']);
  });
});

test('a dropped input waits for room among the outputs like any other', () => {
  const harness = new StreamHarness({ lateInputs: 'drop', latenessMsMax: 0 }).attach(1, 0, { messages: 1 }).commit();
  harness.input(1, { eventTime: 9 }).input(2, { eventTime: 8 }).done(1, 'a').commit();
  harness.take();
  harness.handle({ kind: 'acknowledged', link: 1, output: 1, credit: { messages: 1, bytes: 10 } });
  expect(harness.take()).toEqual(['append output 2 - last']);
});

describe('links', () => {
  test('whose transport takes nothing are sent no more than it may hold, whatever their credit, and nothing is lost', () => {
    const harness = new StreamHarness({ unsentOutputsMax: 2, unsentBytesMax: 10 });
    const credit = { messages: 1_000_000, bytes: 1e9 };
    harness.handle({ kind: 'attached', link: 1, resumeAfter: 0, credit, isAcknowledging: true }).commit();
    for (let step = 1; step <= 4; step++) harness.input(step).done(step, step === 3 ? 'out3-is-long' : `out${step}`);
    const sent = (): readonly string[] => harness.take().filter((text) => text.startsWith('send 1 output'));
    expect(harness.commit() && sent()).toEqual(['send 1 output 1 out1 last', 'send 1 output 2 out2 last']);
    const taken = (output: number) => ({ kind: 'taken', link: 1, output, credit: undefined }) as const;
    // Acknowledgements do not empty the transport.
    expect(harness.handle({ kind: 'acknowledged', link: 1, output: 2, credit }) && sent()).toEqual([]);
    expect(harness.handle(taken(1)) && sent()).toEqual([]);
    expect(harness.handle(taken(2)) && sent()).toEqual(['send 1 output 3 out3-is-long last']);
    expect(harness.handle(taken(3)) && sent()).toEqual(['send 1 output 4 out4 last']);
  });

  test('a later one wins, and the earlier is no longer heard', () => {
    const harness = opened();
    expect(harness.attach(2).take()).toEqual(['close-link 1 stream-superseded', 'send 2 opened 0 next=1']);
    const cancel = { kind: 'cancelled', link: 1, message: '' } as const;
    expect(harness.input(1).handle(cancel, { kind: 'detached', link: 1 }).take()).toEqual([]);
    expect(harness.input(1, {}, 2).take()).toEqual(['append input 1', 'run 1 in1 state=-']);
  });

  test('of one client the one that was opened last wins, also when an earlier one arrives later', () => {
    const harness = new StreamHarness().attach(1, 0, { clientId: 'c', attempt: 2 }).commit();
    harness.take();
    expect(harness.attach(2, 0, { clientId: 'c', attempt: 1 }).take()).toEqual(['close-link 2 stream-superseded']);
    expect(harness.input(1).take()).toEqual(['append input 1', 'run 1 in1 state=-']);
    harness.handle({ kind: 'detached', link: 1 });
    expect(harness.attach(3, 0, { clientId: 'c', attempt: 1 }).take()).toEqual(['close-link 3 stream-superseded']);
    // The same one may be repeated on its way; that of another client, or of one that does not count, always wins.
    expect(harness.attach(4, 0, { clientId: 'c', attempt: 2 }).take()).toContain('send 4 opened 0 next=1');
    expect(harness.attach(5, 0, { clientId: 'd', attempt: 1 }).take()).toContain('close-link 4 stream-superseded');
    expect(harness.attach(6).take()).toContain('close-link 5 stream-superseded');
    expect(harness.attach(7, 0, { clientId: 'c', attempt: 1 }).take()).toContain('close-link 6 stream-superseded');
  });

  test('a resume gets the same outputs again, and what was not sent', () => {
    const harness = opened().input(1).done(1, 'a').input(2).done(2, 'b').commit().handle({ kind: 'detached', link: 1 });
    harness.take();
    expect(harness.attach(2, 1).take()).toEqual(['send 2 opened 2 next=2', 'send 2 output 2 b last']);
  });

  test('outputs that are acknowledged, or beyond the retention, are expired', () => {
    const harness = opened().input(1).done(1, 'a').commit();
    harness.handle({ kind: 'acknowledged', link: 1, output: 1, credit: undefined });
    harness.take();
    expect(harness.attach(2, 0).take()).toEqual(['close-link 2 output-expired']);
    const kept = new StreamHarness({ retainedOutputsMax: 1 }).attach(1, 0, { isAcknowledging: false }).commit();
    for (let sequence = 1; sequence <= 3; sequence++) {
      kept.input(sequence).done(sequence, 'x').commit();
      kept.handle({ kind: 'acknowledged', link: 1, output: sequence, credit: undefined });
    }
    kept.take();
    expect(kept.attach(2, 1, { isAcknowledging: false }).take()).toEqual(['close-link 2 output-expired']);
    expect(kept.attach(3, 2, { isAcknowledging: false }).take()).toContain('send 3 output 3 x last');
  });

  test('a resume after an output that does not exist is refused', () => {
    expect(opened().attach(2, 1).take()).toEqual(['close-link 2 invalid-request']);
  });

  test('a stream without one expires after the resume window', () => {
    const harness = opened().handle({ kind: 'detached', link: 1 });
    expect(harness.wait(119_999).take()).toEqual([]);
    expect(harness.wait(1).commit().take()).toEqual(['append ending expired stream-expired 0']);
    expect(harness.attach(2).take()).toEqual(['send 2 opened 0 next=1', 'send 2 ended expired stream-expired 0']);
  });

  test('a stream ends with its time to live', () => {
    const harness = opened().wait(3_600_000).commit();
    expect(harness.take()).toEqual([
      'append ending expired stream-expired 0',
      'send 1 ended expired stream-expired 0',
      'finished',
    ]);
    expect(harness.attach(2).take()).toEqual(['close-link 2 stream-not-found']);
  });

  test('draining checkpoints and leaves as soon as that is durable', () => {
    const harness = opened({ model: 'stateful' }).input(1).done(1, 'a', 's1').input(2);
    harness.take();
    expect(harness.handle({ kind: 'draining' }).take()).toEqual([
      'send 1 draining',
      'append checkpoint 1 state=s1',
      'cancel-step 2',
    ]);
    expect(harness.commit().take()).toEqual([
      'send 1 accepted 2',
      'send 1 output 1 a last',
      'close-link 1 draining',
      'release draining',
    ]);
  });

  test.each(['full', 'fenced', 'unavailable'] as const)(
    'draining closes links as such where the journal is %s',
    (reason) => {
      const harness = opened({ model: 'stateful' }).input(1).done(1, 'a', 's1').commit();
      harness.handle({ kind: 'draining' }).take();
      harness.handle({ kind: 'append-refused', reason, number: 4 });
      expect(harness.take()).toEqual(['close-link 1 draining', 'release draining']);
    },
  );
});

describe('while memory is scarce', () => {
  const scarce = { kind: 'memory', isScarce: true } as const;

  test('no more input credit is given than before, none to a new client, and all of it afterwards', () => {
    const harness = opened({ pendingInputsMax: 4 });
    const credits = (): readonly unknown[] =>
      harness.actions.splice(0).flatMap((action) => {
        if (action.kind !== 'send' || !('inputCredit' in action.frame)) return [];
        return [action.frame.inputCredit.messages];
      });
    expect(credits()).toEqual([4]);
    harness.handle(scarce).input(1).input(2).commit().done(1, 'a').done(2, 'b').commit();
    expect(credits()).toEqual([2]);
    harness.handle({ kind: 'detached', link: 1 }).attach(2, 2);
    expect(credits()).toEqual([0]);
    harness.handle({ kind: 'memory', isScarce: false });
    expect(credits()).toEqual([4]);
  });

  test('fewer outputs are kept, and steps wait for those', () => {
    const config = { model: 'stateful', scarceBytesMax: 6 } as const;
    const keeping = opened(config).handle(scarce).input(1).input(2).input(3).done(1, 'four', 's').done(2, 'five', 's');
    expect(keeping.commit().machine.counts()).toMatchObject({ retainedOutputs: 2, runningSteps: 0 });
    keeping.handle({ kind: 'acknowledged', link: 1, output: 2, credit: undefined });
    expect(keeping.machine.counts().runningSteps).toBe(1);
    const forgetting = new StreamHarness(config).attach(1, 0, { isAcknowledging: false }).commit();
    for (let step = 1; step <= 4; step++) forgetting.input(step).done(step, 'four', 's').commit();
    expect(forgetting.machine.counts().retainedOutputs).toBe(4);
    const taken = { kind: 'taken', link: 1, output: 4, credit: { messages: 9, bytes: 99 } } as const;
    forgetting.handle(taken, scarce);
    expect(forgetting.machine.counts().retainedOutputs).toBe(1);
  });
});

describe('the journal', () => {
  test('a fenced owner stops at once', () => {
    const harness = opened().input(1);
    harness.take();
    harness.handle({ kind: 'append-refused', reason: 'fenced', number: 2 });
    expect(harness.take()).toEqual(['cancel-step 1', 'close-link 1 draining', 'release draining']);
  });

  test('a full one ends the stream; if that is refused too, its owner stops', () => {
    const harness = opened().input(1).done(1, 'a');
    harness.take();
    expect(harness.handle({ kind: 'append-refused', reason: 'full', number: 2 }).take()).toEqual([
      'append ending failed journal-full 0',
    ]);
    expect(harness.handle({ kind: 'append-refused', reason: 'full', number: 3 }).take()).toEqual([]);
    expect(harness.handle({ kind: 'append-refused', reason: 'full', number: 2 }).take()).toEqual([
      'close-link 1 journal-full',
      'release journal-full',
    ]);
  });

  test('is checkpointed after so many inputs, or some time after the first', () => {
    const harness = opened({ model: 'stateful', checkpointInputsMax: 2, checkpointMsMax: 1_000 });
    harness.input(1).done(1, 'a', 's1').input(2).done(2, 'b', 's2');
    expect(harness.take()).toContain('append checkpoint 2 state=s2');
    harness.input(3).done(3, 'c', 's3');
    expect(harness.take()).not.toContain('append checkpoint 3 state=s3');
    expect(harness.wait(1_000).take()).toEqual(['append checkpoint 3 state=s3']);
  });

  test('is trimmed to what a restore needs, once it could lose more than that', () => {
    const harness = opened({ model: 'stateful', staleEntriesMin: 2 });
    for (let sequence = 1; sequence <= 3; sequence++) {
      harness.input(sequence).done(sequence, `out${sequence}`, `s${sequence}`).commit();
      if (sequence === 3) harness.input(4);
      harness.handle({ kind: 'acknowledged', link: 1, output: sequence, credit: undefined });
    }
    expect(harness.take().at(-1)).toBe('append checkpoint 3 state=s3');
    expect(harness.commit().take()).toContain('trim 9: opening, checkpoint 3 state=s3, input 4');
    harness.restart();
    harness.take();
    expect(harness.attach(2, 3).take()).toEqual(['run 1 in4 state=s3', 'send 2 opened 4 next=4']);
  });
});

describe('a stream that has ended', () => {
  const ended = (): StreamHarness => {
    const harness = opened().input(1, { isLast: true }).done(1, 'out1').commit();
    harness.take();
    return harness;
  };

  test('is left to the journal soon after its client has gone, for the resume window', () => {
    const harness = ended();
    const goneAt = harness.nowMs;
    expect(harness.wait(999).take()).toEqual([]);
    expect(harness.wait(1).take()).toEqual([`parked until ${goneAt + 120_000}`]);
    expect(harness.wait(600_000).take()).toEqual([]);
  });

  test('stays while a client has not taken all of it', () => {
    const harness = ended().attach(2, 0, { messages: 0 });
    expect(harness.wait(600_000).take()).toEqual(['send 2 opened 1 next=1']);
    harness.handle({ kind: 'detached', link: 2 });
    expect(harness.wait(1_000).take()).toEqual([`parked until ${harness.nowMs - 1_000 + 120_000}`]);
  });

  test('is given to a client that comes before a late timer', () => {
    const harness = ended();
    harness.nowMs += 5_000;
    expect(harness.attach(2, 1).take()).toEqual(['send 2 opened 1 next=2', 'send 2 ended done 1']);
  });

  test('is left to the journal again after it was restored, and expires with its time to live', () => {
    const harness = ended();
    harness.nowMs += 600_000;
    harness.restart();
    expect(harness.wait(1_000).take()).toEqual([`parked until ${harness.nowMs - 1_000 + 120_000}`]);
    harness.nowMs += 3_600_000;
    expect(harness.restart().take()).toEqual(['finished']);
  });
});

describe('a restore', () => {
  test('runs inputs since the checkpoint again, and skips their journaled outputs', () => {
    const harness = opened({ model: 'stateful' }).input(1).done(1, 'a', 's1').input(2).commit();
    harness.take();
    expect(harness.restart().take()).toEqual(['run 1 in1 state=-']);
    expect(harness.attach(2, 1).take()).toEqual(['send 2 opened 2 next=2']);
    expect(harness.done(1, 'a', 's1').take()).toEqual(['run 2 in2 state=s1']);
    expect(harness.done(2, 'b', 's2').commit().take()).toEqual(['append output 2 b last', 'send 2 output 2 b last']);
  });

  test('gives no credit while more inputs are run again than may be pending', () => {
    const harness = opened({ model: 'stateful', pendingInputsMax: 1 });
    for (const sequence of [1, 2, 3]) harness.input(sequence).done(sequence, `out${sequence}`, `s${sequence}`).commit();
    harness.restart().attach(2, 3);
    for (const step of [1, 2, 3]) harness.done(step, `out${step}`, `s${step}`);
    const credits = harness.actions.flatMap((action) =>
      action.kind === 'send' && action.link === 2 && 'inputCredit' in action.frame
        ? [action.frame.inputCredit.messages]
        : [],
    );
    expect(credits).toEqual([0, 1]);
  });

  test('that gives another output ends the stream', () => {
    const harness = opened({ model: 'stateful' }).input(1).done(1, 'a', 's1').commit().restart();
    harness.take();
    expect(harness.done(1, 'other', 's1').take()).toEqual(['append ending failed replay-diverged 1']);
  });

  test('that gives fewer or more outputs ends the stream', () => {
    const half = (): StreamHarness => {
      const harness = opened({ model: 'decoupled' }).input(1);
      for (const text of ['a', 'b']) {
        harness.handle({ kind: 'step-output', step: 1, payload: textPayload(text), isLast: false });
      }
      return harness.commit().restart().attach(2, 0);
    };
    const fewer = half().handle(
      { kind: 'step-output', step: 1, payload: textPayload('a'), isLast: false },
      { kind: 'step-done', step: 1, state: undefined },
    );
    expect(fewer.take()).toContain('append ending failed replay-diverged 2');
    const same = half();
    same.take();
    for (const text of ['a', 'b', 'c']) {
      same.handle({ kind: 'step-output', step: 1, payload: textPayload(text), isLast: text === 'c' });
    }
    expect(same.take()).toEqual(['grant 1 100', 'append output 3 c last']);
    expect(same.commit().take()).toEqual(['send 2 output 3 c last']);
  });

  test('delivers the ending again', () => {
    const harness = opened().handle({ kind: 'cancelled', link: 1, message: 'enough' }).commit().restart();
    harness.take();
    expect(harness.attach(2).take()).toEqual(['send 2 opened 0 next=1', 'send 2 ended cancelled cancelled 0']);
  });
});
