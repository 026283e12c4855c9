/**
 * ONNX Runtime sends telemetry unless this is set when its first session is made: it looks up a host, keeps a database of
 * model names in the home folder and a log in the temporary one. For its effect, before the engine is imported.
 */
import { isMainThread } from 'node:worker_threads';
import { setNativeEnvironment } from '@millrace/shared-memory';

const variable = 'ORT_DISABLE_TELEMETRY';

process.env[variable] = '1';
if (!isMainThread) setNativeEnvironment(variable, '1');
