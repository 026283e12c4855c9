/** All attacks, in the order in which they are run: cheap ones first, those that need servers of their own last. */
import type { Attack } from './attack.ts';
import { dyingConnections } from './connections/dying-connections.ts';
import { halfOpenHandshakes } from './connections/half-open-handshakes.ts';
import { idleConnections } from './connections/idle-connections.ts';
import { slowBodies } from './connections/slow-bodies.ts';
import { slowHeads } from './connections/slow-heads.ts';
import { slowReaders } from './connections/slow-readers.ts';
import { wholeHandshakes } from './connections/whole-handshakes.ts';
import { fuzzedRequests } from './frames/fuzzed-requests.ts';
import { http2Floods } from './frames/http2-floods.ts';
import { malformedRequests } from './frames/malformed-requests.ts';
import { windowTricks } from './frames/window-tricks.ts';
import { announcedMessages } from './memory/announced-messages.ts';
import { cancelledRequests } from './memory/cancelled-requests.ts';
import { chunkExtensions } from './memory/chunk-extensions.ts';
import { heldStreams } from './memory/held-streams.ts';
import { hoardedJournal } from './memory/hoarded-journal.ts';
import { oneByteChunks } from './memory/one-byte-chunks.ts';
import { oneByteFrames } from './memory/one-byte-frames.ts';
import { paddedFrames } from './memory/padded-frames.ts';
import { silentBodies } from './memory/silent-bodies.ts';
import { takenStreams } from './memory/taken-streams.ts';
import { trickledMessages } from './memory/trickled-messages.ts';
import { uniqueTexts } from './memory/unique-texts.ts';
import { unreadAnswers } from './memory/unread-answers.ts';
import { waitingInputs } from './memory/waiting-inputs.ts';
import { zipBombs } from './memory/zip-bombs.ts';
import { crashLeftovers } from './power/crash-leftovers.ts';
import { descriptors } from './power/descriptors.ts';
import { foreignPages } from './power/foreign-pages.ts';
import { killedWorkers } from './power/killed-workers.ts';
import { pathTraversal } from './power/path-traversal.ts';
import { sequencesHeld } from './power/sequences-held.ts';
import { unreadTexts } from './power/unread-texts.ts';
import { classifications } from './turns/classifications.ts';
import { compressedAnswers } from './turns/compressed-answers.ts';
import { connectStreamJson } from './turns/connect-stream-json.ts';
import { costlyReads } from './turns/costly-reads.ts';
import { errorEcho } from './turns/error-echo.ts';
import { grpcWebText } from './turns/grpc-web-text.ts';
import { ignoredKeys } from './turns/ignored-keys.ts';
import { jsonNumbers } from './turns/json-numbers.ts';
import { largeHeaders } from './turns/large-headers.ts';
import { largeJsonAnswers } from './turns/large-json-answers.ts';
import { manySmallRequests } from './turns/many-small-requests.ts';
import { modelLookups } from './turns/model-lookups.ts';
import { oddJson } from './turns/odd-json.ts';
import { serviceLists } from './turns/service-lists.ts';
import { streamParameters } from './turns/stream-parameters.ts';

export const attacks: readonly Attack[] = [
  announcedMessages,
  trickledMessages,
  oneByteChunks,
  oneByteFrames,
  paddedFrames,
  uniqueTexts,
  unreadAnswers,
  silentBodies,
  chunkExtensions,
  zipBombs,
  cancelledRequests,
  heldStreams,
  hoardedJournal,
  waitingInputs,
  takenStreams,
  jsonNumbers,
  ignoredKeys,
  oddJson,
  classifications,
  largeJsonAnswers,
  errorEcho,
  costlyReads,
  modelLookups,
  largeHeaders,
  manySmallRequests,
  grpcWebText,
  serviceLists,
  connectStreamJson,
  streamParameters,
  compressedAnswers,
  idleConnections,
  slowHeads,
  slowBodies,
  slowReaders,
  dyingConnections,
  http2Floods,
  windowTricks,
  malformedRequests,
  fuzzedRequests,
  sequencesHeld,
  unreadTexts,
  killedWorkers,
  crashLeftovers,
  pathTraversal,
  foreignPages,
  descriptors,
  halfOpenHandshakes,
  wholeHandshakes,
];
