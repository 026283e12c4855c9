/**
 * The durable streams of this router, as edges and operators use them. How streams are found and made is in
 * stream-openings.ts, what happens to one in hosted-stream.ts.
 */
import type { ModelKey } from '@millrace/core';
import type {
  AcceptedFrame,
  AcknowledgeFrame,
  CancelFrame,
  CancelSignal,
  InferenceError,
  InputFrame,
  OpenFrame,
  StreamCredit,
} from '@millrace/protocol';
import type { StreamLogSummary } from '@millrace/store';
import { ClientLink, cancelMessage, inputEvent } from './client-link.ts';
import type { HostedStream } from './hosted-stream.ts';
import { inputRefusal } from './input-check.ts';
import { LostStreams } from './lost-streams.ts';
import { StreamQuarantine } from './quarantined-stream.ts';
import { RestoreGuard } from './restore-guard.ts';
import { StreamDirectory } from './stream-directory.ts';
import type {
  AttachedLink,
  AttachOptions,
  StreamCaller,
  StreamGateway,
  StreamListenerOfLink,
  StreamStatus,
} from './stream-gateway.ts';
import type { GivenStreamParts, StreamOpeningsParts } from './stream-hosting.ts';
import { StreamOpenings } from './stream-openings.ts';
import { memoryRefusal, openRefusalFrom, orRefused, streamDrainingRefusal } from './stream-refusals.ts';
import { type StreamCounts, StreamTable } from './stream-table.ts';

/** Streams that are taken over at once: they share commits of the journal, and a client that comes back waits for no more. */
const restoresMax = 64;

export class StreamHost implements StreamGateway {
  readonly #parts: StreamOpeningsParts;
  readonly #table: StreamTable;
  readonly #openings: StreamOpenings;
  readonly #guard: RestoreGuard;
  readonly #lost: LostStreams;
  /** One for all streams. */
  readonly #defaultCredit: StreamCredit;
  /** For operators. */
  readonly directory: StreamDirectory;
  #linkCount = 0;
  #isDraining: boolean = false;

  constructor(given: GivenStreamParts) {
    this.#lost = new LostStreams({ clock: given.clock, restore: (id) => this.#restored(id) });
    const parts: StreamOpeningsParts = { ...given, lost: this.#lost };
    const { creditMessages, creditBytes } = parts.settings;
    this.#parts = parts;
    this.#defaultCredit = { messages: creditMessages, bytes: creditBytes };
    this.#table = new StreamTable(parts.settings);
    this.#guard = new RestoreGuard({
      journal: parts.journal,
      clock: parts.clock,
      deathsMax: parts.settings.restoreDeathsMax,
      earlierEnd: parts.earlierEnd,
    });
    const { journal, clock, observer } = parts;
    const { resumeWindowMs } = parts.settings;
    const quarantine = new StreamQuarantine({ guard: this.#guard, journal, clock, observer, resumeWindowMs });
    this.#openings = new StreamOpenings(parts, this.#table, quarantine);
    this.directory = new StreamDirectory(parts, this.#table, this.#openings);
  }

  /** The streams of this router, for metrics. */
  get counts(): StreamCounts {
    return this.#table.counts();
  }

  attach(open: OpenFrame, caller: StreamCaller, options: AttachOptions, listener: StreamListenerOfLink): AttachedLink {
    this.#linkCount += 1;
    const link = new ClientLink(this.#linkCount, listener, this.#parts.clock, this.#parts.codec);
    this.#opened(open, caller).then(
      (stream) => {
        if (link.isDetached) {
          // Then nobody may have the stream.
          stream.tell({ kind: 'detached', link: link.id });
          return;
        }
        const { outputCredit = this.#defaultCredit, clientId, attempt } = open;
        // What it had sent is not known any more.
        const resumeAfter = stream.opening.isQuarantined === true ? 0 : open.resumeAfter;
        const { isAcknowledging } = options;
        stream.attach(link, caller.caller, { resumeAfter, credit: outputCredit, isAcknowledging, clientId, attempt });
        link.passTo(stream, isAcknowledging ? undefined : this.#defaultCredit);
      },
      (error: unknown) => {
        const refusal = openRefusalFrom(error);
        this.#parts.observer.streamRefused(refusal.code);
        link.onClosed(refusal);
      },
    );
    return link;
  }

  input(id: string, frame: InputFrame, caller: StreamCaller, signal: CancelSignal): Promise<AcceptedFrame> {
    // Not `await`: a suspended call would keep the input, which may wait long for those before it.
    return this.#resumed(id, caller)
      .then((stream) => this.#tellInput(stream, frame, signal))
      .then((input) => ({ kind: 'accepted', input }));
  }

  #tellInput(stream: HostedStream, frame: InputFrame, signal: CancelSignal): Promise<number> {
    const refusal = inputRefusal(stream.pin, frame.sequence, frame.payload);
    if (refusal !== undefined) throw refusal;
    const event = inputEvent(undefined, frame, this.#parts.clock, this.#parts.codec);
    if (!stream.claim(event.input.payload?.byteLength ?? 0)) throw memoryRefusal();
    stream.tell(event);
    return stream.accepted(frame.sequence, signal);
  }

  async acknowledge(id: string, frame: AcknowledgeFrame, caller: StreamCaller): Promise<void> {
    const stream = await this.#resumed(id, caller);
    stream.tell({ kind: 'acknowledged', link: undefined, output: frame.output, credit: frame.outputCredit });
  }

  async cancel(id: string, frame: CancelFrame, caller: StreamCaller): Promise<void> {
    const stream = await this.#resumed(id, caller);
    stream.tell({ kind: 'cancelled', link: undefined, message: cancelMessage('the client', frame.reason) });
  }

  async status(id: string, caller: StreamCaller): Promise<StreamStatus> {
    return (await this.#resumed(id, caller)).status();
  }

  /** The model versions of the streams that an earlier process left and that have not ended, as far as the journal says. */
  async streamedVersions(): Promise<ReadonlySet<ModelKey>> {
    return new Set((await this.#leftOpen()).flatMap(({ tag }) => (tag === '' ? [] : [tag])));
  }

  /**
   * Takes over the streams that an earlier process left, so that their times go on and their models are loaded. Those that
   * have ended stay in the journal until somebody resumes them.
   */
  async restore(onFailed: (stream: string, error: InferenceError) => void): Promise<number> {
    const left = await this.#leftOpen();
    // Those that are suspected of the death of a router come last: others do not wait for the next one.
    const suspects = new Set<string>();
    for (const { stream } of left) if ((await this.#guard.deathsOf(stream)) > 0) suspects.add(stream);
    const isSuspect = ({ stream }: StreamLogSummary): boolean => suspects.has(stream);
    const waiting = [...left.filter((log) => !isSuspect(log)), ...left.filter(isSuspect)].values();
    let restored = 0;
    const restoreSome = async (): Promise<void> => {
      for (const { stream: id } of waiting) {
        if (this.#isDraining) return;
        try {
          if (await this.#restored(id)) restored += 1;
        } catch (error) {
          onFailed(id, openRefusalFrom(error));
        }
      }
    };
    await Promise.all(Array.from({ length: restoresMax }, restoreSome));
    this.#guard.noteAllRestored();
    return restored;
  }

  /** Tells every client, and gives up every stream: whoever is next takes them over. */
  drain(): void {
    this.#isDraining = true;
    this.#lost.stop();
    for (const stream of this.#table.all()) stream.tell({ kind: 'draining' });
  }

  /** False: there is no such stream any more. */
  async #restored(id: string): Promise<boolean> {
    const stream = await this.#openings.restored(id);
    if (stream !== undefined) this.#leaveIfDraining(stream);
    return stream !== undefined;
  }

  async #leftOpen(): Promise<readonly StreamLogSummary[]> {
    return (await this.#parts.journal.list()).filter(({ entriesExpireAtMs }) => entriesExpireAtMs === undefined);
  }

  async #opened(open: OpenFrame, caller: StreamCaller): Promise<HostedStream> {
    if (this.#isDraining) throw streamDrainingRefusal();
    try {
      const stream = await this.#openings.opened(open, caller);
      this.#leaveIfDraining(stream);
      return stream;
    } catch (error) {
      // The journal of a router that leaves may be closed, or have another owner.
      const isLeft = this.#isDraining && openRefusalFrom(error).code === 'journal-unavailable';
      throw isLeft ? streamDrainingRefusal() : error;
    }
  }

  /** The drain began while it was on its way. */
  #leaveIfDraining(stream: HostedStream): void {
    if (this.#isDraining) stream.tell({ kind: 'draining' });
  }

  /** A stream that a call beside its connection names. */
  #resumed(id: string, caller: StreamCaller): Promise<HostedStream> {
    const resume: OpenFrame = {
      kind: 'open',
      streamId: id,
      mode: 'resume',
      context: '',
      parameters: {},
      resumeAfter: 0,
      protocolVersions: [],
    };
    return orRefused(this.#opened(resume, caller));
  }
}
