/**
 * ONNX Runtime sends telemetry unless this is set when its first session is created: it resolves a host name, and writes a
 * database of model names to the home folder and a log to the temporary one. Imported for its effect, before the engine.
 */
import { isMainThread } from 'node:worker_threads';
import { setNativeEnvironment } from '@millrace/shared-memory';

const variable = 'ORT_DISABLE_TELEMETRY';

process.env[variable] = '1';
if (!isMainThread) setNativeEnvironment(variable, '1');
