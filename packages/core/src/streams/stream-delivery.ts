/** What the clients of one stream are sent: the link that counts, its frames in order, outputs that are kept for it. */
import type { MachineActions } from './machine-actions.ts';
import type { EndingEntry, SizedPayload } from './stream-entries.ts';
import { type StreamError, streamError } from './stream-errors.ts';
import { StreamLink } from './stream-link.ts';
import type { StreamMachineConfig } from './stream-machine-config.ts';
import type { FlowCredit, LinkFrame, LinkId, StreamMachineEvent } from './stream-machine-events.ts';
import type { StreamRecords } from './stream-records.ts';

const supersededByOwn = streamError(
  'stream-superseded',
  'a later connection of the same client has resumed this stream',
);

export class StreamDelivery<Payload extends SizedPayload> {
  readonly #config: StreamMachineConfig;
  readonly #records: StreamRecords<Payload>;
  readonly #actions: MachineActions<Payload>;
  /** The current link, or the last one while there is none: its credit still holds. */
  #link: StreamLink<Payload> | undefined;
  #isAttached: boolean = false;
  isScarce: boolean = false;

  constructor(config: StreamMachineConfig, records: StreamRecords<Payload>, actions: MachineActions<Payload>) {
    this.#config = config;
    this.#records = records;
    this.#actions = actions;
  }

  get isAttached(): boolean {
    return this.#isAttached;
  }

  isCurrent(link: LinkId): boolean {
    return this.#isAttached && this.#link?.id === link;
  }

  /** Whether the current client has been sent every output so far. */
  get hasSentAll(): boolean {
    return this.#isAttached && this.#link?.isOpened === true && this.#link.sent >= this.#records.outputs.last;
  }

  /** Outputs that may be made now, beyond those that are numbered. */
  get room(): number {
    if (this.#records.isScarce) return 0;
    return this.#link?.roomFor(this.#config.retainedOutputsMax, this.#retainedBytesMax) ?? 0;
  }

  /** The later client wins, and of the links of one client the one that it opened last, which is not always the one that arrives last. */
  attach(event: StreamMachineEvent<Payload> & { kind: 'attached' }): void {
    const error = this.#link?.isAfter(event) === true ? supersededByOwn : this.#resumeError(event.resumeAfter);
    if (error !== undefined) {
      this.#actions.push({ kind: 'close-link', link: event.link, error });
      return;
    }
    this.close(streamError('stream-superseded', 'another client has resumed this stream'));
    this.#records.acceptance.forgetTold();
    this.#link = new StreamLink(event.link, this.#records.outputs, event);
    this.#isAttached = true;
    // Outputs that a client has seen and never resumes before would otherwise be waited for, and nothing would be made.
    if (event.isAcknowledging) this.#records.outputs.acknowledge(event.resumeAfter);
  }

  detach(): void {
    this.#isAttached = false;
  }

  close(error: StreamError): void {
    if (!this.#isAttached || this.#link === undefined) return;
    this.#isAttached = false;
    this.#actions.push({ kind: 'close-link', link: this.#link.id, error });
  }

  acknowledge({ link: from, output, credit }: StreamMachineEvent<Payload> & { kind: 'acknowledged' }): void {
    const link = this.#isAttached ? this.#link : undefined;
    // An output that was not sent on this link is still needed there.
    const handled = Math.min(output, link?.sent ?? this.#records.outputs.durable);
    if (from === undefined || link?.isAcknowledging === true) this.#records.outputs.acknowledge(handled);
    link?.renew(handled, credit);
  }

  taken({ output, credit }: StreamMachineEvent<Payload> & { kind: 'taken' }): void {
    this.#link?.take(output);
    if (credit !== undefined) this.#link?.renew(output, credit);
  }

  /** Sends what is durable and within the credit. `ending`: once it is durable. True: the link is over, by `ended`. */
  pump(inputCredit: FlowCredit, ending: EndingEntry | undefined): boolean {
    this.#forget();
    const link = this.#isAttached && this.#records.committed >= 1 ? this.#link : undefined;
    if (link === undefined) return false;
    if (!link.isOpened) this.#sendOpened(link, inputCredit);
    else if (this.#records.acceptance.isNews(inputCredit)) this.tellAccepted(inputCredit);
    const config = this.#config;
    for (let output = link.takeNext(config); output !== undefined; output = link.takeNext(config)) {
      this.#send({ kind: 'output', output });
    }
    // Nobody waits for the outputs of a stream that was cancelled or has expired: its client may give no more credit.
    const isCutShort = ending?.outcome === 'cancelled' || ending?.outcome === 'expired';
    if (ending === undefined || (!isCutShort && link.sent < ending.outputs)) return false;
    const { outcome, error, outputs } = ending;
    this.#send({ kind: 'ended', outcome, error, outputs });
    this.#isAttached = false;
    return true;
  }

  /** Answers an input that came before, or tells of new credit. */
  tellAccepted(inputCredit: FlowCredit): void {
    if (!this.#isAttached || this.#link?.isOpened !== true) return;
    this.#records.acceptance.noteTold(inputCredit);
    this.#send({ kind: 'accepted', acceptedInput: this.#records.acceptance.accepted, inputCredit });
  }

  tellDraining(): void {
    if (this.#isAttached && this.#link?.isOpened === true) this.#send({ kind: 'draining' });
  }

  /** Also while there is no link: outputs are made as far as the last credit goes. */
  #forget(): void {
    if (this.#link === undefined || this.#link.isAcknowledging) return;
    const { retainedOutputsMax } = this.#config;
    this.#records.outputs.forgetBeyond(retainedOutputsMax, this.#retainedBytesMax, this.#link.handled);
  }

  get #retainedBytesMax(): number {
    const { retainedBytesMax, scarceBytesMax } = this.#config;
    return this.isScarce || this.#records.isScarce ? Math.min(retainedBytesMax, scarceBytesMax) : retainedBytesMax;
  }

  #sendOpened(link: StreamLink<Payload>, inputCredit: FlowCredit): void {
    link.isOpened = true;
    this.#records.acceptance.noteTold(inputCredit);
    const acceptedInput = this.#records.acceptance.accepted;
    this.#send({ kind: 'opened', acceptedInput, nextOutput: link.resumeAfter + 1, inputCredit });
  }

  #send(frame: LinkFrame<Payload>): void {
    this.#actions.push({ kind: 'send', link: (this.#link as StreamLink<Payload>).id, frame });
  }

  #resumeError(resumeAfter: number): StreamError | undefined {
    const { forgotten, durable } = this.#records.outputs;
    if (resumeAfter < forgotten) {
      const message = `outputs up to ${forgotten} are no longer kept; resume after output ${forgotten} or a later one, not ${resumeAfter}`;
      return streamError('output-expired', message);
    }
    if (resumeAfter <= durable) return undefined;
    const message = `the stream has ${durable} outputs; resume after one of them, not ${resumeAfter}`;
    return streamError('invalid-request', message);
  }
}
