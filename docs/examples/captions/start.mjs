/**
 * Live captions of what is said into a microphone, by the bundled listener:
 *
 *   node docs/examples/captions/start.mjs [PAGE_PORT] [SERVER_PORT]
 */
import { startExample } from '../start-example.mjs';

await startExample({
  folder: import.meta.dirname,
  models: ['listener_tensors'],
  hint: 'to kill it while it listens: ',
});
