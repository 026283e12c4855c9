/** Imported ahead of a server that is not one of the bench's own, so that the bench can ask it for its memory. */
import { reportMemoryOnSignal } from './memory-report.ts';

reportMemoryOnSignal();
