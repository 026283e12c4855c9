/**
 * Runs before each test file. Where the last file that a process has asked `stat` about was a pipe or a socket, `realpathSync` of Node stops at the
 * first folder that it knows, so that modules are imported by the links of the workspace: a second time, with classes of their own.
 */
import { statSync } from 'node:fs';

statSync(import.meta.dirname);
