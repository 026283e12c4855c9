/** How fast the bundled generator is on this core, and what its decode loop adds to the runs of the model. Prints one JSON line. */
import { measureDecoding } from '@millrace/worker/testing';

process.stdout.write(`${JSON.stringify(await measureDecoding())}\n`);
