/** Puts streams that were opened or found into this router, and takes them out when they are over. */
import type { Journal } from '@millrace/store';
import { FollowedRevision } from './followed-revision.ts';
import { HostedStream } from './hosted-stream.ts';
import type { HostedStreamParts, StreamOwner } from './hosted-stream-parts.ts';
import { JournalPauses } from './journal-pauses.ts';
import type { LostStreams } from './lost-streams.ts';
import { ModelSteps, type ModelStepsParts } from './model-steps.ts';
import { OpeningTurns } from './opening-turns.ts';
import { openingWarnings } from './opening-warnings.ts';
import type { EarlierEnd } from './restore-guard.ts';
import { StreamAlarms } from './stream-alarms.ts';
import type { StreamClock } from './stream-clock.ts';
import type { StreamModels } from './stream-models.ts';
import type { StreamSettings } from './stream-options.ts';
import type { StreamTable } from './stream-table.ts';

/** What a host is given, and what its parts get of it. */
export type GivenStreamParts = Omit<StreamOpeningsParts, 'lost'>;

export interface StreamOpeningsParts
  extends Omit<ModelStepsParts, 'clock' | 'observer'>,
    Pick<HostedStreamParts, 'memory' | 'observer'> {
  readonly journal: Journal;
  readonly models: StreamModels;
  readonly settings: StreamSettings;
  readonly earlierEnd: EarlierEnd;
  readonly lost: Pick<LostStreams, 'add'>;
  readonly clock: StreamClock & ModelStepsParts['clock'];
}

/** A stream of this router: new, or found in the journal. */
interface FoundStream
  extends Omit<HostedStreamParts, 'alarms' | 'clock' | 'memory' | 'observer' | 'owner' | 'pauses' | 'warnings'> {
  /** Of a new stream, if its client chose one. */
  readonly chosenId: string | undefined;
}

export class StreamHosting implements StreamOwner {
  /** For new streams, which one commit of the journal may bring in any number. */
  readonly turns: OpeningTurns;
  readonly #parts: StreamOpeningsParts;
  readonly #table: StreamTable;
  readonly #alarms: StreamAlarms;
  readonly #pauses: JournalPauses;

  constructor(parts: StreamOpeningsParts, table: StreamTable) {
    this.#parts = parts;
    this.#table = table;
    this.turns = new OpeningTurns(parts.clock);
    this.#alarms = new StreamAlarms(parts.clock);
    this.#pauses = new JournalPauses(parts.clock);
  }

  /** For a stream that is about to be opened or restored. */
  revision(): FollowedRevision {
    return new FollowedRevision(this.#parts);
  }

  host(found: FoundStream): HostedStream {
    const { id, opening, openingBytes, expiresAtMs, log, machine, revision, caller, chosenId, isRestored } = found;
    const { clock, observer, memory } = this.#parts;
    // Written out: an object made by a spread has a hidden class of its own, which takes 450 bytes.
    const parts: HostedStreamParts = {
      id,
      opening,
      openingBytes,
      expiresAtMs,
      log,
      machine,
      revision,
      caller,
      warnings: openingWarnings(chosenId, opening.exactness),
      isRestored,
      clock,
      alarms: this.#alarms,
      pauses: this.#pauses,
      observer,
      memory,
      owner: this,
    };
    const stream = new HostedStream(parts, (listener) => new ModelSteps(this.#parts, revision, opening, listener));
    revision.attach(stream);
    this.#table.add(id, stream);
    stream.perform();
    return stream;
  }

  onEnded(caller: string): void {
    this.#table.giveRoom(caller);
  }

  onOver(id: string, isLost: boolean): void {
    this.#table.remove(id);
    if (isLost) this.#parts.lost.add(id);
  }
}
