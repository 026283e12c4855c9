/** The engine's library, without its telemetry; the one place that imports its values. */
import './telemetry-off.ts';

export { InferenceSession, Tensor } from 'onnxruntime-node';
