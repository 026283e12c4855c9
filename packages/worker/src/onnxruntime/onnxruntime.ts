/** The engine's library, without its telemetry; the only file that imports its values. */
import './telemetry-off.ts';

export { env as engineEnvironment, InferenceSession, Tensor } from 'onnxruntime-node';
