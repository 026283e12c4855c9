/**
 * Pictures, dropped onto a page, and the shapes that the bundled spotter finds in them:
 *
 *   node docs/examples/pictures/start.mjs [PAGE_PORT] [SERVER_PORT]
 */
import { join } from 'node:path';
import { startExample } from '../start-example.mjs';

await startExample({
  folder: import.meta.dirname,
  models: ['spotter', 'spotter_tensors'],
  files: { '/samples/': join(import.meta.dirname, '../../../zoo/samples') },
  hint: 'to kill it and see that the next picture waits for its return: ',
});
