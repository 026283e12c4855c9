/**
 * A chat page in the browser, with the bundled storyteller:
 *
 *   node docs/examples/chat/start.mjs [PAGE_PORT] [SERVER_PORT]
 */
import { startExample } from '../start-example.mjs';

await startExample({
  folder: import.meta.dirname,
  models: ['storyteller'],
  hint: 'to kill it in the middle of a story: ',
});
