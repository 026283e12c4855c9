/** Opens streams: creates them, or takes over those that an earlier process left in the journal. */
import { randomBytes, randomUUID } from 'node:crypto';
import { type OpenedStream, openDecisionOf, StreamMachine } from '@millrace/core';
import { InferenceError, type OpenFrame, streamProtocolVersion } from '@millrace/protocol';
import type { StreamLog, StreamLogView, TakeOverOptions } from '@millrace/store';
import { decodeEntry } from './entry-codec.ts';
import type { HostedStream } from './hosted-stream.ts';
import { KeptOpening } from './kept-opening.ts';
import { MachineOptions } from './machine-options.ts';
import {
  decodeOpening,
  generationOpeningOf,
  journalTagOf,
  type OpeningRecord,
  openingMemoryBytes,
  parametersDigest,
} from './opening-record.ts';
import type { StreamQuarantine } from './quarantined-stream.ts';
import type { StreamCaller } from './stream-gateway.ts';
import { StreamHosting, type StreamOpeningsParts } from './stream-hosting.ts';
import { hasSameFiles } from './stream-models.ts';
import { appendRefusalFrom, memoryRefusal, streamInferenceError, streamNotFound } from './stream-refusals.ts';
import type { StreamTable } from './stream-table.ts';

export class StreamOpenings {
  readonly #parts: StreamOpeningsParts;
  readonly #table: StreamTable;
  readonly #quarantine: StreamQuarantine;
  readonly #owner = randomUUID();
  readonly #machineOptions: MachineOptions;
  readonly #hosting: StreamHosting;

  constructor(parts: StreamOpeningsParts, table: StreamTable, quarantine: StreamQuarantine) {
    this.#parts = parts;
    this.#table = table;
    this.#quarantine = quarantine;
    this.#machineOptions = new MachineOptions(parts.settings);
    this.#hosting = new StreamHosting(parts, table);
  }

  /** The stream that an `open` frame asks for, new or resumed. */
  opened(open: OpenFrame, caller: StreamCaller): Promise<HostedStream> {
    const id = open.streamId ?? randomBytes(16).toString('base64url');
    return this.#table.serially(id, async () => {
      checkProtocolVersions(open.protocolVersions);
      const digest = parametersDigest(open.parameters);
      const known = this.#table.take(id);
      if (known !== undefined || open.streamId === undefined) {
        return this.#decided(id, open, digest, caller, known, undefined);
      }
      await this.#quarantine.endIfPoison(id);
      const view = await this.#parts.journal.peek(id);
      // Of a new stream there is nothing to read.
      if (view === undefined || view.last === 0) return this.#decided(id, open, digest, caller, undefined, view);
      return this.#quarantine.run(id, () => this.#decided(id, open, digest, caller, undefined, view));
    });
  }

  async #decided(
    id: string,
    open: OpenFrame,
    digest: string,
    caller: StreamCaller,
    known: HostedStream | undefined,
    view: StreamLogView | undefined,
  ): Promise<HostedStream> {
    const existing = known?.opening ?? (view && openingOf(view));
    const decision = openDecisionOf(
      {
        stream: id,
        mode: open.mode,
        principal: caller.principal,
        context: open.context === '' ? undefined : open.context,
        parametersDigest: open.mode === 'resume' && isEmpty(open.parameters) ? undefined : digest,
      },
      existing && openedStream(existing, known?.hasEnded ?? hasEnding(view), open.context, digest),
      // Whether the files have changed is known when the version is pinned again.
      existing?.modelDigest,
    );
    if (decision.kind === 'refuse') throw streamInferenceError(decision.error);
    if (decision.kind === 'create') return this.#created(id, open, digest, caller, unbornEpochOf(view));
    const stream = known ?? (await this.#restored(id, view?.epoch));
    if (stream === undefined) throw streamNotFound(id);
    return stream;
  }

  /** Takes over a stream that an earlier process left; undefined: there is none any more. */
  restored(id: string): Promise<HostedStream | undefined> {
    return this.#table.serially(id, async () => {
      const poison = await this.#quarantine.endIfPoison(id);
      if (poison !== undefined) throw poison;
      return this.#quarantine.run(id, () => this.#restored(id, undefined));
    });
  }

  /** `expectedEpoch`: of a log that was made for the stream and is empty; 0: there is none. */
  async #created(
    id: string,
    open: OpenFrame,
    digest: string,
    { caller, principal }: StreamCaller,
    expectedEpoch: number,
  ): Promise<HostedStream> {
    const { models, settings, clock, observer } = this.#parts;
    this.#table.claimRoom(caller);
    const revision = this.#hosting.revision();
    try {
      const pin = await models.pin(open.context, revision.watch());
      revision.hold(pin);
      const generation = generationOpeningOf(pin.model.view, open.parameters);
      const openedAtMs = clock.wallNow();
      const expiresAtMs = openedAtMs + settings.lifeMsMax;
      const tag = journalTagOf(pin.model.view);
      // The log outlives the stream, so that its end can be written and be asked for.
      const log = await this.#createdLog(id, {
        expectedEpoch,
        expiresAtMs: expiresAtMs + settings.resumeWindowMs,
        tag,
        account: caller,
      });
      if (log === undefined) throw new InferenceError('stream-conflict', `stream ${id} exists; choose another id`);
      const turn = this.#hosting.turns.wait(caller);
      if (turn !== undefined) await turn;
      const { view, kind, isResumable } = pin.model;
      const opening: OpeningRecord = {
        principal,
        caller,
        context: open.context,
        parameters: open.parameters,
        parametersDigest: digest,
        ...generation,
        model: view.name,
        version: view.version,
        modelDigest: pin.digest,
        modelKind: kind,
        isResumable,
        exactness: pin.exactness,
        openedAtMs,
      };
      const first = new KeptOpening(opening, expiresAtMs);
      const openingBytes = openingMemoryBytes(first.payload);
      if (!this.#parts.memory.hasRoomFor(caller, openingBytes)) {
        await log.close({ remove: true });
        throw memoryRefusal();
      }
      const machine = StreamMachine.open(first, this.#machineOptions.of(opening), clock.wallNow());
      const stream = this.#hosting.host({
        id,
        opening,
        openingBytes,
        log,
        machine,
        revision,
        caller,
        expiresAtMs,
        chosenId: open.streamId,
        isRestored: false,
      });
      first.letBytesGo();
      observer.streamOpened();
      return stream;
    } catch (error) {
      revision.release();
      this.#table.giveRoom(caller);
      throw error;
    }
  }

  async #createdLog(id: string, options: Omit<TakeOverOptions, 'create'>): Promise<StreamLog | undefined> {
    const { journal, lost } = this.#parts;
    try {
      return await journal.takeOver(id, this.#owner, { ...options, create: true });
    } catch (error) {
      // It may be there or not.
      if (appendRefusalFrom(error) === 'unavailable') lost.add(id);
      throw error;
    }
  }

  /** Undefined: there is none, or another router was faster. */
  async #restored(id: string, expectedEpoch: number | undefined): Promise<HostedStream | undefined> {
    const known = this.#table.take(id);
    if (known !== undefined) return known;
    const { journal, models, clock } = this.#parts;
    const log = await journal.takeOver(id, this.#owner, expectedEpoch === undefined ? {} : { expectedEpoch });
    if (log === undefined) return undefined;
    const revision = this.#hosting.revision();
    try {
      const entries = [...log.snapshot, ...log.entries].map(decodeEntry);
      const [first] = entries;
      if (first?.kind !== 'opening') {
        // Either only the id is left of it, or its opening never became durable and nobody was told of it.
        await log.close({ remove: log.base === 0 });
        return undefined;
      }
      const opening = decodeOpening(first.payload);
      const kept = new KeptOpening(opening, first.expiresAt);
      entries[0] = kept;
      const hasEnded = entries.at(-1)?.kind === 'ending';
      // Nothing of a stream that has ended is run again.
      if (!hasEnded) {
        const found = await models.pinAgain(opening.model, opening.version, revision.watch());
        if (found !== undefined) revision.hold(found);
      }
      const { pin } = revision;
      const last = log.base + log.entries.length;
      const machine = StreamMachine.restore(entries, last, this.#machineOptions.of(opening), clock.wallNow(), log.idle);
      const isChanged = pin !== undefined && !hasSameFiles(opening.modelDigest, pin.digest);
      if (!hasEnded && (pin === undefined || isChanged)) {
        const code = isChanged ? 'model-changed' : 'model-unloaded';
        const what = isChanged ? 'has other files than when the stream was opened' : 'is no longer served';
        const message = `version ${opening.version} of ${opening.model} ${what}; open a new stream`;
        machine.handle({ kind: 'model-lost', error: { code, message } }, clock.wallNow());
      }
      this.#table.countRestored(opening.caller);
      const stream = this.#hosting.host({
        id,
        opening,
        openingBytes: openingMemoryBytes(first.payload),
        expiresAtMs: first.expiresAt,
        log,
        machine,
        revision,
        caller: opening.caller,
        chosenId: undefined,
        isRestored: true,
      });
      kept.letBytesGo();
      return stream;
    } catch (error) {
      // Whoever comes next tries again.
      revision.release();
      await log.close();
      throw error;
    }
  }
}

/** A router died after it made the log and before the opening was durable: nobody was told of the stream, and it can begin. */
function unbornEpochOf(view: StreamLogView | undefined): number {
  return view !== undefined && view.last === 0 ? view.epoch : 0;
}

function openingOf(view: StreamLogView): OpeningRecord | undefined {
  const [first] = [...view.snapshot, ...view.entries];
  const entry = first && decodeEntry(first);
  return entry?.kind === 'opening' ? decodeOpening(entry.payload) : undefined;
}

function hasEnding(view: StreamLogView | undefined): boolean {
  const last = view && (view.entries.at(-1) ?? view.snapshot.at(-1));
  return last !== undefined && decodeEntry(last).kind === 'ending';
}

/** Of a stream in quarantine nobody knows what it was opened with: whoever knows its id is told of its end. */
function openedStream(
  opening: OpeningRecord,
  hasEnded: boolean,
  askedContext: string,
  askedDigest: string,
): OpenedStream {
  const { principal, modelDigest, isQuarantined = false } = opening;
  const context = isQuarantined ? askedContext : opening.context;
  const digest = isQuarantined ? askedDigest : opening.parametersDigest;
  return { principal, context, parametersDigest: digest, modelDigest, hasEnded };
}

/** A client that says nothing speaks any. */
function checkProtocolVersions(spoken: readonly number[]): void {
  if (spoken.length === 0 || spoken.includes(streamProtocolVersion)) return;
  throw new InferenceError(
    'invalid-request',
    `the client speaks versions ${spoken.join(', ')} of the stream protocol, and this server version ${streamProtocolVersion}`,
  );
}

function isEmpty(parameters: OpenFrame['parameters']): boolean {
  return Object.keys(parameters).length === 0;
}
